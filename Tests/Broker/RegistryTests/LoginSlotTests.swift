import NativeSSO
import PostgresClient
import Testing

/// Ids from the database carry the same slot as ids from the broker.
@Suite(.timeLimit(.minutes(2))) struct LoginSlotTests {
    private static let registration = Statement(
        """
        SELECT native_sso.login_slot($1, $2)::bigint, r.session_id
        FROM native_sso.register_session($1, sha256('sid-1'), $2) AS r
        """)

    @Test func isTheSame() async throws {
        try await TestDatabase.withFixture { database in
            for (issuer, subject) in [
                ("https://idp.example.com", "248289761001"), ("https://idp.example.com/äöü", "ʘ‿ʘ"), ("https://a", "b"),
            ] {
                let row = try await database.run(Self.registration, [.text(issuer), .text(subject)])[0]
                let slot = UniqueID.slot(issuer: Issuer(validated: issuer), subject: Subject(validated: subject))
                #expect(try row.int64(0) == Int64(slot))
                let id = try #require(UniqueID(octets: try row.uuid(1)[...]))
                #expect(id.high >> 2 & 0x3FF == slot)
                #expect(id.high >> 12 & 0xF == 7 && id.low >> 62 == 0b10)
            }
        }
    }
}
