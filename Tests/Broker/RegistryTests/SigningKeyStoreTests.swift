import NativeSSO
import PostgresClient
import PrivateCluster
import Registry
import Testing

@Suite("Stored signing keys", .serialized)
struct SigningKeyStoreTests {
    @Test("A row that cannot be read is an unknown key, and a suspension that cannot be read counts")
    func unreadable() async throws {
        try await TestDatabase.withFixture { database in
            try await database.cluster.psql(
                """
                INSERT INTO native_sso.signing_key (
                    kid, use, algorithm, reference, public_jwk, state, created_at, published_at, activated_at,
                    suspended_at)
                VALUES ('device', 'device', 'HS256', 'a', NULL, 'active', now(), now(), now(), NULL),
                    ('newer', 'access-token', 'ML-DSA-65', 'a', '{}', 'active', now(), now(), now(), NULL),
                    ('never', 'refresh-token', 'HS256', 'a', NULL, 'active', now(), now(), 'infinity', NULL),
                    ('suspended', 'access-token', 'ES256', 'a', '{}', 'active', now(), now(), now(), 'infinity')
                """, database: database.name)
            let keys = try await SigningKeyStore(database: database.service).keys()
            #expect(keys.records.map(\.kid).sorted() == ["device", "suspended"])
            #expect(keys.records.filter { $0.suspendedAt != nil }.map(\.kid) == ["suspended"])
            #expect(keys.unknown == ["newer": "access-token", "never": "refresh-token"])
            #expect(try await database.administration.keys() == keys)
        }
    }
}
