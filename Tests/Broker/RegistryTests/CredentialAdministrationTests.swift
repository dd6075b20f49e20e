import BrokerTesting
import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Administration of client credentials", .serialized)
struct CredentialAdministrationTests {
    private static let act = AdministrativeAct(actor: "ada", reason: "rotation", requestID: UniqueID(high: 1, low: 2))
    private static let server = ClientID(validated: "server")
    private static let key = ClientKey(id: ClientKeyID(validated: "k1"), publicJWK: #"{"alg": "ES256", "kty": "EC"}"#)

    private static func register(
        _ id: ClientID, _ method: Client.Authentication, in database: PostgresFixture
    ) async throws -> Administration {
        let administration = Administration(pool: database.superuser)
        try await administration.add(
            Client(
                id: id, authentication: method, allowedScope: .empty, defaultScope: .empty,
                audiences: ["https://api.example.com"]), act)
        return administration
    }

    @Test("A client has at most two secrets, and none is stored in clear")
    func twoSecrets() async throws {
        try await TestDatabase.withFixture { database in
            let administration = try await Self.register(Self.server, .clientSecretBasic, in: database)
            let digests = ["one", "two", "three"].map { ClientSecretDigest(of: $0) }
            try await administration.addSecret(digests[0], to: Self.server, Self.act)
            try await administration.addSecret(digests[1], to: Self.server, Self.act)
            let before = try await database.digestOfState()
            await expectRefused { try await administration.addSecret(digests[2], to: Self.server, Self.act) }
            #expect(try await database.digestOfState() == before)

            // The removal of the older one makes room.
            try await administration.retireSecret(digests[0], of: Self.server, Self.act)
            try await administration.addSecret(digests[2], to: Self.server, Self.act)
            let kept = try await administration.secrets(of: Self.server).map(\.digest)
            #expect(Set(kept) == [digests[1], digests[2]])
            let audit = try await database.run(Self.audit, []).map { try "\($0.text(0)) \($0.text(1))" }
            #expect(
                audit.filter { !$0.hasPrefix("client_added") } == [
                    "client_secret_added \(digests[0].label)", "client_secret_added \(digests[1].label)",
                    "client_secret_retired \(digests[0].label)", "client_secret_added \(digests[2].label)",
                ])
        }
    }

    @Test("Of many secrets added at once, two are accepted")
    func secretsAtOnce() async throws {
        try await TestDatabase.withFixture { database in
            let administration = try await Self.register(Self.server, .clientSecretBasic, in: database)
            let answers = try await atOnce(8) { number in
                do throws(AdministrationError) {
                    try await administration.addSecret(
                        ClientSecretDigest(of: "\(number)"), to: Self.server, Self.act)
                    return true
                } catch {
                    return false
                }
            }
            let taken = answers.count { $0 }
            #expect((1...2).contains(taken))
            #expect(try await administration.secrets(of: Self.server).count == taken)
        }
    }

    @Test("Keys are added and removed by kid")
    func keys() async throws {
        try await TestDatabase.withFixture { database in
            let administration = try await Self.register(Self.server, .privateKeyJWT, in: database)
            try await administration.addKey(Self.key, to: Self.server, Self.act)
            await #expect(throws: AdministrationError.self) {
                try await administration.addKey(Self.key, to: Self.server, Self.act)
            }
            // The same key with other JWK members.
            let again = ClientKey(
                id: ClientKeyID(validated: "k2"), publicJWK: #"{"alg": "ES256", "kty": "EC", "use": "sig"}"#)
            await #expect(throws: AdministrationError.self) {
                try await administration.addKey(again, to: Self.server, Self.act)
            }
            #expect(try await administration.keys(of: Self.server).map(\.key) == [Self.key])
            let other = ClientKey(
                id: ClientKeyID(validated: "k2"), publicJWK: #"{"alg": "ES256", "kty": "EC", "x": "another"}"#)
            try await administration.addKey(other, to: Self.server, Self.act)
            try await administration.removeKey(other.id, of: Self.server, Self.act)
            try await administration.removeKey(Self.key.id, of: Self.server, Self.act)
            #expect(try await administration.keys(of: Self.server).isEmpty)
            await #expect(throws: AdministrationError.self) {
                try await administration.removeKey(Self.key.id, of: Self.server, Self.act)
            }
        }
    }

    @Test(
        "A client accepts only the credentials of its method", arguments: Client.Authentication.allCases)
    func ofItsMethod(method: Client.Authentication) async throws {
        try await TestDatabase.withFixture { database in
            let administration = try await Self.register(Self.server, method, in: database)
            if method != .clientSecretBasic {
                await expectRefused {
                    try await administration.addSecret(ClientSecretDigest(of: "x"), to: Self.server, Self.act)
                }
            }
            if method != .privateKeyJWT {
                await expectRefused { try await administration.addKey(Self.key, to: Self.server, Self.act) }
            }
        }
    }

    @Test("Removing a client removes its credentials")
    func goesWithTheClient() async throws {
        try await TestDatabase.withFixture { database in
            let administration = try await Self.register(Self.server, .clientSecretBasic, in: database)
            try await administration.addSecret(ClientSecretDigest(of: "x"), to: Self.server, Self.act)
            try await administration.removeClient(Self.server, Self.act)
            #expect(try await administration.secrets(of: Self.server).isEmpty)
        }
    }

    private func expectRefused(_ change: () async throws -> Void) async {
        do {
            try await change()
            Issue.record("was allowed")
        } catch AdministrationError.refused {
        } catch {
            Issue.record("\(error)")
        }
    }

    private static let audit = Statement(
        "SELECT kind, coalesce(details->>'secret', '') FROM native_sso.audit_event ORDER BY occurred_at")
}
