import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Clients and scopes in memory", .serialized)
struct RegistrySnapshotTests {
    private let act = AdministrativeAct(actor: "test", reason: nil, requestID: UniqueID(high: 1, low: 2))

    @Test("Before the first load, a lookup is an outage, not an unknown client")
    func neverLoaded() async throws {
        try await TestDatabase.withFixture { database in
            let snapshot = RegistrySnapshot(database: database.service)
            #expect(throws: PortError.self) { try snapshot.client(ClientID(validated: "app-one")) }
            #expect(throws: PortError.self) { try snapshot.scopesRequiringConsent }
            #expect(!snapshot.isLoaded)
        }
    }

    @Test("The snapshot has each client as registered")
    func roundTrip() async throws {
        try await TestDatabase.withFixture { database in
            let administration = Administration(pool: database.superuser)
            let client = Client(
                id: ClientID(validated: "app one/1"), grants: [.refreshToken],
                allowedScope: Scope(["openid", "orders.read"]), defaultScope: Scope(["openid"]),
                audiences: ["https://a.example", "https://b.example"], accessTokenLifetime: 120,
                refreshTokenLifetime: .days(3), issuesRefreshToken: false, issuesIDToken: true,
                allowsSelfExchange: true, acceptedContextClasses: ["urn:loa:2"], maximumAuthenticationAge: .hours(1),
                copiedClaims: ["email", "https://example.com/roles"], assertionAudience: .tokenEndpoint,
                assertionLifetime: .hours(1), introspects: ["https://api.example.com"])
            try await administration.add(client, act)
            try await administration.putScope("payments", requiresConsent: true, act)
            try await administration.putScope("openid", requiresConsent: nil, act)

            let snapshot = RegistrySnapshot(database: database.service)
            try await snapshot.reload()
            #expect(try snapshot.client(client.id) == client)
            #expect(try snapshot.client(ClientID(validated: "app-none")) == nil)
            #expect(try snapshot.scopesRequiringConsent == Scope(["payments"]))
        }
    }

    @Test("The snapshot has the identity providers of each client's groups")
    func providers() async throws {
        try await TestDatabase.withFixture { database in
            let administration = Administration(pool: database.superuser)
            let apps = ["app-one", "app-two", "app-alone"].map { ClientID(validated: $0) }
            for app in apps {
                try await administration.add(
                    Client(id: app, allowedScope: .empty, defaultScope: .empty, audiences: ["https://a.example"]), act)
            }
            let issuers = ["https://a.example", "https://b.example"].map { Issuer(validated: $0) }
            for (issuer, name) in zip(issuers, ["a", "b"]) {
                let group = GroupID(validated: name)
                try await administration.addGroup(group, issuer: issuer, act)
                _ = try await administration.putMember(apps[0], .both, in: group, act)
            }
            _ = try await administration.putMember(
                apps[1], .target, in: GroupID(validated: "b"), act)

            let snapshot = RegistrySnapshot(database: database.service)
            #expect(throws: PortError.self) { try snapshot.providers(of: apps[0]) }
            try await snapshot.reload()
            #expect(try snapshot.providers(of: apps[0]) == Set(issuers))
            #expect(try snapshot.providers(of: apps[1]) == [issuers[1]])
            #expect(try snapshot.providers(of: apps[2]).isEmpty)
        }
    }

    @Test("The snapshot has the credentials of each client only")
    func credentials() async throws {
        try await TestDatabase.withFixture { database in
            let administration = Administration(pool: database.superuser)
            for (name, method) in [("app", .none), ("server", .clientSecretBasic), ("signer", .privateKeyJWT)]
                as [(String, Client.Authentication)]
            {
                let client = Client(
                    id: ClientID(validated: name), authentication: method, allowedScope: .empty, defaultScope: .empty,
                    audiences: ["https://a.example"])
                try await administration.add(client, act)
            }
            let (server, signer) = (ClientID(validated: "server"), ClientID(validated: "signer"))
            let digests = ["one", "two"].map { ClientSecretDigest(of: $0) }
            for digest in digests { try await administration.addSecret(digest, to: server, act) }
            let key = ClientKey(id: ClientKeyID(validated: "k1"), publicJWK: #"{"alg": "ES256", "kty": "EC"}"#)
            try await administration.addKey(key, to: signer, act)

            let snapshot = RegistrySnapshot(database: database.service)
            #expect(throws: PortError.self) { try snapshot.credentials(of: server) }
            try await snapshot.reload()
            #expect(try Set(snapshot.credentials(of: server).secrets) == Set(digests))
            #expect(try snapshot.credentials(of: server).keys == [])
            #expect(try snapshot.credentials(of: signer) == ClientCredentials(keys: [key]))
            #expect(try snapshot.credentials(of: ClientID(validated: "app")) == .none)
            #expect(try snapshot.credentials(of: ClientID(validated: "nobody")) == .none)
        }
    }

    @Test("The last copy stays while the database is unavailable")
    func keepsLastCopy() async throws {
        try await TestDatabase.withFixture { database in
            try await database.put(client: ClientID(validated: "app-one"), isEnabled: true)
            let snapshot = RegistrySnapshot(database: database.service)
            try await snapshot.reload()
            await database.service.shutdown()
            await #expect(throws: PortError.self) { try await snapshot.reload() }
            #expect(try snapshot.client(ClientID(validated: "app-one"))?.isEnabled == true)
        }
    }
}
