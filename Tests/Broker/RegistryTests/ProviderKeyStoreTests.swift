import Foundation
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry
import Testing

@Suite("Stored keys of identity providers", .serialized)
struct ProviderKeyStoreTests {
    @Test("A key is stored with all its kids and algorithms, and only for the issuer that published it")
    func remembers() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let (one, other) = (Issuer(validated: "https://idp"), Issuer(validated: "https://other"))
            let first = String(repeating: "a", count: 43)
            let second = String(repeating: "b", count: 43)
            let entries = [
                Self.entry(first, "1"), Self.entry(first, "2"), Self.entry(first, nil), Self.entry(first, "1", "RS256"),
                Self.entry(first, "1", "PS256"), Self.entry(second, nil),
            ]
            for _ in 1...2 { try await store.record(entries, of: one) }
            let keys = try await store.keys(of: one)
            #expect(keys.map(\.thumbprint).sorted() == entries.map(\.thumbprint))
            #expect(keys.allSatisfy { $0.revokedAt == nil && $0.firstSeenAt <= $0.lastSeenAt })
            #expect(try await store.keys(of: other).isEmpty)
            try await store.record([Self.entry(first, "1")], of: other)  // tenants of one provider share keys
            #expect(try await store.keys(of: other).map(\.thumbprint) == [first])
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
            #expect(row.revokedAt != nil && row.lastSeenAt == Self.now.adding(20))
        }
    }

    @Test("At most 256 unrevoked rows of an issuer are kept, and none that was not seen for 430 days")
    func isBounded() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let (issuer, other) = (Issuer(validated: "https://idp"), Issuer(validated: "https://other"))
            func key(_ number: Int) -> String { "\(1000 + number)" + String(repeating: "a", count: 39) }
            try await store.record([Self.entry(key(0), "old", seen: -1000)], of: other)
            try await store.record([Self.entry(key(0), "revoked", seen: -1000)], of: issuer)
            try await database.run(Self.revoke, [])
            for first in stride(from: 1, to: 301, by: 50) {
                try await store.record(
                    (first..<first + 50).map { Self.entry(key($0), nil, seen: Int64($0)) }, of: issuer)
            }
            let kept = try await store.keys(of: issuer)
            #expect(Set(kept.map(\.thumbprint)) == Set([key(0)] + (45...300).map(key)))
            #expect(try await store.keys(of: other).count == 1)
            try await store.record([Self.entry(key(1), nil, seen: -430 * 86_400 - 60)], of: issuer)
            #expect(try await store.keys(of: issuer).count == 257)
        }
    }

    @Test("The version of an issuer's keys changes with a new or a revoked key, and not with a sighting")
    func versions() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let issuer = Issuer(validated: "https://idp")
            let key = String(repeating: "a", count: 43)
            #expect(try await store.versions().isEmpty)
            var seen: Set<String> = []
            func isNew() async throws -> Bool {
                seen.insert(try #require(try await store.versions()["https://idp"])).inserted
            }
            let first = Self.entry(key, "1")
            try await store.record([first], of: issuer)
            #expect(try await isNew())
            try await store.record(
                [
                    ProviderKeyRow(
                        thumbprint: key, kid: "1", algorithm: nil, publicJWK: first.publicJWK,
                        firstSeenAt: first.firstSeenAt,
                        lastSeenAt: first.lastSeenAt.adding(300), tag: first.tag)
                ], of: issuer)
            #expect(try await !isNew())
            try await store.record([Self.entry(key, "2", seen: 300)], of: issuer)
            #expect(try await isNew())
            try await database.run(Self.revoke, [])
            #expect(try await isNew())
        }
    }

    @Test("A row that cannot be read counts as revoked, and keeps back no other")
    func unreadable() async throws {
        try await TestDatabase.withFixture { database in
            let store = ProviderKeyStore(database: database.service)
            let (issuer, other) = (Issuer(validated: "https://idp"), Issuer(validated: "https://other"))
            let keys = ["a", "b", "c", "d"].map { String(repeating: $0, count: 43) }
            try await store.record(keys.map { Self.entry($0, "1") }, of: issuer)
            try await store.record([Self.entry(keys[1], "1")], of: other)
            func revoked() async throws -> [String] {
                try await store.keys(of: issuer).filter { $0.revokedAt != nil }.map(\.thumbprint).sorted()
            }
            try await database.cluster.psql(
                """
                ALTER TABLE native_sso.idp_key DROP CONSTRAINT idp_key_last_seen_at_check;
                ALTER TABLE native_sso.idp_key DROP CONSTRAINT idp_key_pkey;
                ALTER TABLE native_sso.idp_key ALTER thumbprint DROP NOT NULL;
                UPDATE native_sso.idp_key SET revoked_at = 'infinity' WHERE thumbprint = '\(keys[0])';
                UPDATE native_sso.idp_key SET last_seen_at = 'infinity'
                WHERE thumbprint = '\(keys[1])' AND issuer = 'https://idp';
                """, database: database.name)
            #expect(try await revoked() == [keys[0], keys[1]])
            let versions = try await store.versions()
            try await database.cluster.psql(
                """
                UPDATE native_sso.idp_key SET thumbprint = NULL, revoked_at = now() WHERE thumbprint = '\(keys[2])'
                """, database: database.name)
            // No key can be told by it.
            #expect(try await revoked() == ["", keys[0], keys[1]])
            #expect(try await store.versions()["https://idp"] != versions["https://idp"])
            #expect(try await store.keys(of: issuer).filter { $0.revokedAt == nil }.map(\.thumbprint) == [keys[3]])
            #expect(try await store.keys(of: other) == [Self.entry(keys[1], "1")])
            #expect(try await database.administration.providerKeys(of: issuer).count == 4)
        }
    }

    private static let now = UnixTime(seconds: Int64(time(nil)))
    private static let revoke = Statement("UPDATE native_sso.idp_key SET revoked_at = now()")

    private static func entry(
        _ thumbprint: String, _ kid: String?, _ algorithm: String? = nil, jwk: String = #"{"kty": "EC"}"#,
        seen: Int64 = 0
    ) -> ProviderKeyRow {
        ProviderKeyRow(
            thumbprint: thumbprint, kid: kid, algorithm: algorithm, publicJWK: jwk,
            firstSeenAt: now.adding(Seconds(seen)), lastSeenAt: now.adding(Seconds(seen)),
            tag: String(repeating: "t", count: 43))
    }
}
