import NativeSSO
import PostgresClient
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
}
