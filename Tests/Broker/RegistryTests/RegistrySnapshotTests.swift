import BrokerTesting
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry
import Testing

@Suite("Clients and scopes in memory", .serialized)
struct RegistrySnapshotTests {
    private let act = AdministrativeAct(actor: "test", reason: nil, requestID: UniqueID(high: 1, low: 2))

    @Test("The snapshot has each client as registered, and keeps it while the database is away")
    func roundTrip() async throws {
        try await TestDatabase.withFixture { database in
            let client = Client(
                id: ClientID(validated: "app one/1"), grants: [.refreshToken],
                allowedScope: Scope(["openid", "orders.read"]), defaultScope: Scope(["openid"]),
                audiences: ["https://a.example", "https://b.example"], accessTokenLifetime: 120,
                refreshTokenLifetime: .days(3), issuesRefreshToken: false, issuesIDToken: true,
                allowsSelfExchange: true, acceptedContextClasses: ["urn:loa:2"], maximumAuthenticationAge: .hours(1),
                copiedClaims: ["email", "https://example.com/roles"], assertionAudience: .tokenEndpoint,
                assertionLifetime: .hours(1), introspects: ["https://api.example.com"])
            try await database.administration.add(client, act)
            try await database.administration.putScope("payments", requiresConsent: true, act)
            try await database.administration.putScope("openid", requiresConsent: nil, act)

            let snapshot = RegistrySnapshot(database: database.service)
            // Before the first load a lookup is an outage.
            #expect(throws: PortError.self) { try snapshot.client(client.id) }
            #expect(throws: PortError.self) { try snapshot.scopesRequiringConsent }
            #expect(!snapshot.isLoaded)
            try await snapshot.reload()
            #expect(try snapshot.client(client.id) == client)
            #expect(try snapshot.client(ClientID(validated: "app-none")) == nil)
            #expect(try snapshot.scopesRequiringConsent == Scope(["payments"]))
            // The last copy stays while the database is away.
            await database.service.shutdown()
            await #expect(throws: PortError.self) { try await snapshot.reload() }
            #expect(try snapshot.client(client.id) == client)
        }
    }

    @Test("The snapshot has the identity providers of each client's groups")
    func providers() async throws {
        try await TestDatabase.withFixture { database in
            let apps = ["app-one", "app-two", "app-alone"].map { ClientID(validated: $0) }
            for app in apps {
                try await database.administration.add(
                    Client(id: app, allowedScope: .empty, defaultScope: .empty, audiences: ["https://a.example"]), act)
            }
            let issuers = ["https://a.example", "https://b.example"].map { Issuer(validated: $0) }
            for (issuer, name) in zip(issuers, ["a", "b"]) {
                let group = GroupID(validated: name)
                try await database.administration.addGroup(group, issuer: issuer, act)
                _ = try await database.administration.putMember(apps[0], .both, in: group, act)
            }
            _ = try await database.administration.putMember(
                apps[1], .target, in: GroupID(validated: "b"), act)

            let snapshot = RegistrySnapshot(database: database.service)
            #expect(throws: PortError.self) { try snapshot.providers(of: apps[0]) }
            try await snapshot.reload()
            #expect(try snapshot.providers(of: apps[0]) == Set(issuers))
            #expect(try snapshot.providers(of: apps[1]) == [issuers[1]])
            #expect(try snapshot.providers(of: apps[2]).isEmpty)
        }
    }

    // MARK: Age

    @Test("A copy that was read more than 60 s ago answers nothing but the scopes of the metadata")
    func age() async throws {
        try await TestDatabase.withFixture { database in
            let clock = ManualClock()
            let snapshot = RegistrySnapshot(database: database.service, clock: clock)
            clock.advance(by: .seconds(5))
            #expect(snapshot.age == .seconds(5))
            #expect(Self.outages(of: "app", in: snapshot) == Set(Lookup.allCases))
            try await snapshot.reload()
            #expect(snapshot.age == .zero)
            clock.advance(by: .seconds(60))
            #expect(Self.outages(of: "app", in: snapshot).isEmpty)
            clock.advance(by: .nanoseconds(1))
            #expect(Self.outages(of: "app", in: snapshot) == Set(Lookup.allCases).subtracting([.allowedScopes]))
            try await snapshot.reload()
            #expect(Self.outages(of: "app", in: snapshot).isEmpty)
            // A reading that fails makes the copy no younger.
            await database.service.shutdown()
            clock.advance(by: .seconds(61))
            await #expect(throws: PortError.self) { try await snapshot.reload() }
            #expect(snapshot.age == .seconds(61))
            #expect(!Self.outages(of: "app", in: snapshot).isEmpty)
        }
    }

    // MARK: Rows that cannot be read

    @Test("A row that cannot be read is an outage for its client alone", arguments: Defect.ofOneClient)
    func unreadableRow(_ defect: Defect) async throws {
        try await withClients { database, snapshot in
            try await database.cluster.psql(defect.sql, database: database.name)
            try await database.administration.suspend(Self.issuer, act)
            try await snapshot.reload()
            #expect(snapshot.unreadableRows == [defect.row])
            for client in Self.clients {
                let expected: Set<Lookup> = client == defect.client ? [defect.lookup] : []
                #expect(Self.outages(of: client, in: snapshot) == expected, "\(client)")
            }
            // The log says which row it was.
            #expect(Self.outage(of: defect.lookup, of: defect.client, in: snapshot)?.detail == defect.row)
            // What was changed since is there.
            #expect(try snapshot.suspendedProviders == [Self.issuer])
        }
    }

    @Test("A name that cannot be read is an outage for all that depends on its table", arguments: Defect.ofNames)
    func unreadableName(_ defect: Defect) async throws {
        try await withClients { database, snapshot in
            try await database.cluster.psql(defect.sql, database: database.name)
            try await snapshot.reload()
            #expect(snapshot.unreadableRows == [defect.row])
            for client in Self.clients {
                #expect(Self.outages(of: client, in: snapshot) == [defect.lookup], "\(client)")
            }
            #expect(try snapshot.allowedScopes.contains("openid"))
        }
    }

    @Test("A row counts again once it can be read")
    func repairedRow() async throws {
        try await withClients { database, snapshot in
            for algorithm in ["'ML-DSA-65'", "'ES256'"] {
                try await database.cluster.psql(
                    "UPDATE native_sso.client SET access_token_algorithm = \(algorithm) WHERE client_id = 'app'",
                    database: database.name)
                try await snapshot.reload()
            }
            #expect(try snapshot.client(ClientID(validated: "app"))?.accessTokenAlgorithm == .es256)
            #expect(snapshot.unreadableRows.isEmpty)
        }
    }

    @Test("The metadata has the scopes of the clients that are enabled and can be read")
    func allowedScopes() async throws {
        try await withClients { database, snapshot in
            try await snapshot.reload()
            #expect(try snapshot.allowedScopes == Scope(["openid"] + Self.clients))
            try await database.cluster.psql(
                """
                UPDATE native_sso.client SET access_token_algorithm = 'ML-DSA-65' WHERE client_id = 'app';
                UPDATE native_sso.client SET enabled = false WHERE client_id = 'server'
                """, database: database.name)
            try await snapshot.reload()
            #expect(try snapshot.allowedScopes == Scope(["openid", "other", "signer"]))
        }
    }

    @Test("A suspension counts whatever else its row holds")
    func unreadableSuspension() async throws {
        try await withClients { database, snapshot in
            try await database.cluster.psql(
                "INSERT INTO native_sso.suspended_provider VALUES ('\(Self.issuer)', 'infinity')",
                database: database.name)
            try await snapshot.reload()
            #expect(try snapshot.suspendedProviders == [Self.issuer])
            #expect(snapshot.lastSuspendedProviders == [Self.issuer])
            #expect(snapshot.unreadableRows.isEmpty)
            // The commands go on beside it.
            #expect(try await database.administration.suspendedProviders().map(\.issuer) == [Self.issuer])
        }
    }

    private static let issuer = Issuer(validated: "https://idp.example.com")
    /// Two apps, and two that prove themselves.
    private static let clients = ["app", "other", "server", "signer"]

    private func withClients(
        _ body: @Sendable (PostgresFixture, RegistrySnapshot) async throws -> Void
    ) async throws {
        try await TestDatabase.withFixture { database in
            try await database.cluster.psql(
                """
                INSERT INTO native_sso.client (
                    client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences,
                    issues_refresh_token, issues_id_token, allows_self_exchange, dpop, accepted_acr)
                SELECT name, method, true, '{}', ARRAY['openid', name], '{}', '{x}', true, false, false, 'off', '{}'
                FROM (VALUES ('app', 'none'), ('other', 'none'), ('server', 'client_secret_basic'),
                    ('signer', 'private_key_jwt')) AS clients (name, method);
                INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 1, sha256('one'));
                INSERT INTO native_sso.client_key (client_id, kid, public_jwk)
                VALUES ('signer', 'one', '{"kty": "EC", "alg": "ES256"}');
                INSERT INTO native_sso.sharing_group (group_id, issuer) VALUES ('vendor', '\(Self.issuer)');
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                SELECT 'vendor', '\(Self.issuer)', client_id, 'both' FROM native_sso.client
                """, database: database.name)
            try await body(database, RegistrySnapshot(database: database.service))
        }
    }

    enum Lookup: CaseIterable {
        case client, credentials, allowedScopes, providers, suspendedProviders, scopesRequiringConsent

        func callAsFunction(_ client: ClientID, in snapshot: RegistrySnapshot) throws(PortError) {
            switch self {
            case .client: _ = try snapshot.client(client)
            case .credentials: _ = try snapshot.credentials(of: client)
            case .allowedScopes: _ = try snapshot.allowedScopes
            case .providers: _ = try snapshot.providers(of: client)
            case .suspendedProviders: _ = try snapshot.suspendedProviders
            case .scopesRequiringConsent: _ = try snapshot.scopesRequiringConsent
            }
        }
    }

    private static func outages(of client: String, in snapshot: RegistrySnapshot) -> Set<Lookup> {
        Set(Lookup.allCases.filter { outage(of: $0, of: client, in: snapshot) != nil })
    }

    private static func outage(of lookup: Lookup, of client: String, in snapshot: RegistrySnapshot) -> Outage? {
        do throws(PortError) {
            try lookup(ClientID(validated: client), in: snapshot)
            return nil
        } catch {
            return error.asOutage
        }
    }

    /// What a newer release, or an operator's SQL, may leave in the tables.
    struct Defect: Sendable, CustomTestStringConvertible {
        /// `*`: it cannot be read.
        let client: String
        let lookup: Lookup
        /// As the log names it.
        let row: String
        let sql: String

        var testDescription: String { row }

        static let ofOneClient = [
            Defect(
                client: "app", lookup: .client, row: "client app: column access_token_algorithm cannot be read",
                sql: "UPDATE native_sso.client SET access_token_algorithm = 'ML-DSA-65' WHERE client_id = 'app'"),
            Defect(
                client: "server", lookup: .credentials, row: "client_secret server: column digest cannot be read",
                sql: """
                    ALTER TABLE native_sso.client_secret DROP CONSTRAINT client_secret_digest_check;
                    UPDATE native_sso.client_secret SET digest = 'short'
                    """),
            Defect(
                client: "signer", lookup: .credentials, row: "client_key signer: column created_at cannot be read",
                sql: "UPDATE native_sso.client_key SET created_at = 'infinity'"),
            Defect(
                client: "app", lookup: .providers, row: "sharing_group_member app: column issuer cannot be read",
                sql: """
                    INSERT INTO native_sso.sharing_group (group_id, issuer) VALUES ('odd', 'https://' || chr(228));
                    INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                    VALUES ('odd', 'https://' || chr(228), 'app', 'both')
                    """),
        ]

        static let ofNames = [
            Defect(
                client: "*", lookup: .client, row: "a row of client: column client_id cannot be read",
                sql: """
                    \(anyName)
                    DELETE FROM native_sso.sharing_group_member WHERE client_id = 'app';
                    UPDATE native_sso.client SET client_id = chr(228) WHERE client_id = 'app'
                    """),
            Defect(
                client: "*", lookup: .credentials, row: "a row of client_secret: column client_id cannot be read",
                sql: """
                    \(anyName)
                    ALTER TABLE native_sso.client_secret DROP CONSTRAINT client_secret_client_id_authentication_fkey;
                    UPDATE native_sso.client_secret SET client_id = chr(228)
                    """),
            Defect(
                client: "*", lookup: .credentials, row: "a row of client_key: column client_id cannot be read",
                sql: """
                    \(anyName)
                    ALTER TABLE native_sso.client_key DROP CONSTRAINT client_key_client_id_authentication_fkey;
                    UPDATE native_sso.client_key SET client_id = chr(228)
                    """),
            Defect(
                client: "*", lookup: .providers, row: "a row of sharing_group_member: column client_id cannot be read",
                sql: """
                    \(anyName)
                    ALTER TABLE native_sso.sharing_group_member
                        DROP CONSTRAINT sharing_group_member_client_id_fkey;
                    UPDATE native_sso.sharing_group_member SET client_id = chr(228) WHERE client_id = 'app'
                    """),
            Defect(
                client: "*", lookup: .suspendedProviders,
                row: "a row of suspended_provider: column issuer cannot be read",
                sql: "INSERT INTO native_sso.suspended_provider VALUES ('https://' || chr(228), now())"),
            Defect(
                client: "*", lookup: .scopesRequiringConsent, row: "a row of scope: column name cannot be read",
                sql: """
                    ALTER TABLE native_sso.scope DROP CONSTRAINT scope_pkey;
                    ALTER TABLE native_sso.scope ALTER name DROP NOT NULL;
                    INSERT INTO native_sso.scope (name, requires_consent) VALUES (NULL, true)
                    """),
        ]

        private static let anyName = "ALTER DOMAIN native_sso.identifier DROP CONSTRAINT identifier_check;"
    }
}
