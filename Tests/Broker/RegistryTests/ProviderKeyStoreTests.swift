import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Stored keys of identity providers", .serialized)
struct ProviderKeyStoreTests {
    @Test("A key is stored only for the issuer that published it")
    func remembers() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let (one, other) = (Issuer(validated: "https://idp"), Issuer(validated: "https://other"))
            let first = String(repeating: "a", count: 43)
            let second = String(repeating: "b", count: 43)
            try await store.record([Self.entry(first, "1"), Self.entry(second, nil)], of: one)
            try await store.record([Self.entry(first, "1")], of: one)
            let keys = try await store.keys(of: one)
            #expect(keys.map(\.thumbprint).sorted() == [first, second])
            #expect(keys.allSatisfy { $0.revokedAt == nil && $0.firstSeenAt <= $0.lastSeenAt })
            #expect(try await store.keys(of: other).isEmpty)
            try await store.record([Self.entry(first, "1")], of: other)  // tenants of one provider share keys
            #expect(try await store.keys(of: other).map(\.thumbprint) == [first])
        }
    }

    @Test("A key listed under several kids or algorithms is stored completely")
    func remembersEveryEntry() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let issuer = Issuer(validated: "https://idp")
            let key = String(repeating: "a", count: 43)
            let entries = [
                Self.entry(key, "1"), Self.entry(key, "2"), Self.entry(key, nil), Self.entry(key, "1", "RS256"),
                Self.entry(key, "1", "PS256"),
            ]
            for _ in 1...2 { try await store.record(entries, of: issuer) }
            #expect(try await store.keys(of: issuer).map(\.thumbprint) == entries.map(\.thumbprint))
        }
    }

    @Test("The latest row counts, and a revoked key stays revoked")
    func replaces() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let issuer = Issuer(validated: "https://idp")
            let key = String(repeating: "a", count: 43)
            try await store.record([Self.entry(key, "1", seen: 10)], of: issuer)
            let second = Self.entry(key, "1", jwk: #"{"kty": "RSA"}"#, seen: 20)
            try await store.record([second], of: issuer)
            #expect(try await store.keys(of: issuer) == [second])
            try await database.run(Self.revoke, [])
            try await store.record([Self.entry(key, "1", seen: 30)], of: issuer)
            let row = try #require(try await store.keys(of: issuer).first)
            #expect(row.revokedAt != nil && row.lastSeenAt == UnixTime(seconds: 20))
        }
    }

    @Test("An unavailable database is an outage, not a corrupt row")
    func outage() async throws {
        try await TestDatabase.withFixture { database in
            try await database.withOwnConnection { pool in
                await pool.shutdown()
                let issuer = Issuer(validated: "https://idp")
                do throws(AdministrationError) {
                    _ = try await Administration(pool: pool).providerKeys(of: issuer)
                    Issue.record("it answered")
                } catch {
                    guard case .database(.unavailable(.shuttingDown)) = error else {
                        Issue.record("\(error)")
                        return
                    }
                }
                do throws(PortError) {
                    _ = try await ProviderKeyStore(database: pool).keys(of: issuer)
                    Issue.record("it answered")
                } catch {
                    guard case .outage = error else {
                        Issue.record("\(error)")
                        return
                    }
                }
            }
        }
    }

    private static let revoke = Statement("UPDATE native_sso.idp_key SET revoked_at = now()")

    private static func entry(
        _ thumbprint: String, _ kid: String?, _ algorithm: String? = nil, jwk: String = #"{"kty": "EC"}"#,
        seen: Int64 = 1_795_000_000
    ) -> ProviderKeyRow {
        ProviderKeyRow(
            thumbprint: thumbprint, kid: kid, algorithm: algorithm, publicJWK: jwk,
            firstSeenAt: UnixTime(seconds: seen), lastSeenAt: UnixTime(seconds: seen),
            tag: String(repeating: "t", count: 43))
    }

    @Test("The table refuses a private key")
    func refusesPrivateKeys() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            await #expect(throws: PortError.self) {
                try await store.record(
                    [Self.entry(String(repeating: "a", count: 43), "1", jwk: #"{"kty":"EC","d":"x"}"#)],
                    of: Issuer(validated: "https://idp"))
            }
        }
    }
}
