import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// The limits that the end of a session sets for later id_tokens of the same `sid`.
@Suite(.timeLimit(.minutes(2))) struct SessionLimitsTests {
    private let act = AdministrativeAct(actor: "ada", reason: nil, requestID: UniqueID(high: 1, low: 2))

    @Test func operatorEndDemandsLaterLogin() async throws {
        try await TestDatabase.withWorld { database, world async throws in
            #expect(
                try await database.administration.end([world.sessionRowID], reason: "operator", act) == [
                    world.sessionRowID
                ])
            #expect(try await Self.limits(database) == [["sid-1", "", "now"]])
            #expect(try await Self.register(database, authTimeIn: nil) == "ended")
            #expect(try await Self.register(database, authTimeIn: 0) == "ended")
            #expect(try await Self.register(database, authTimeIn: 60) == "registered")
            // The new session takes the limits over.
            #expect(try await Self.limits(database) == [["sid-1", "", "now"], ["sid-1", "", "now"]])
        }
    }

    @Test func sameLoginMayReturn() async throws {
        try await TestDatabase.withWorld { database, world in
            _ = try await database.administration.end(
                [world.sessionRowID], reason: "operator", sameLoginMayReturn: true, act)
            #expect(try await Self.limits(database) == [["sid-1", "now", ""]])
            // A second end that is stricter tightens a name whose session has ended.
            #expect(try await database.administration.end([world.sessionRowID], reason: "operator", act) == [])
            #expect(try await Self.limits(database) == [["sid-1", "now", "now"]])
            // A less strict end loosens nothing.
            _ = try await database.administration.end(
                [world.sessionRowID], reason: "operator", sameLoginMayReturn: true, act)
            #expect(try await Self.limits(database) == [["sid-1", "now", "now"]])
            let loosening = Statement("UPDATE native_sso.session SET auth_time_after = NULL")
            #expect(try await database.superuser.refusal(of: loosening)?.isConstraintViolation == true)
        }
    }

    @Test func logoutTightensDeadAndUnknownNames() async throws {
        try await TestDatabase.withWorld { database, world in
            _ = try await database.administration.end(
                [world.sessionRowID], reason: "operator", sameLoginMayReturn: true, act)
            for (sid, token) in [("sid-1", "one"), ("sid-2", "two"), ("sid-2", "three")] {
                let session = LogoutSubject.session(SessionID(validated: sid))
                #expect(try await database.logOut(session, token) == 0)
            }
            let limits = try await Self.limits(database)
            #expect(limits == [["sid-1", "now", "now"], ["sid-2", "", "now"]])
        }
    }

    /// An expired session ends when a registration takes its name.
    @Test func registrationEndsAnExpiredSession() async throws {
        try await TestDatabase.withWorld { database, _ in
            _ = try await database.run(
                Statement(
                    "UPDATE native_sso.session SET expires_at = date_trunc('second', now()) - interval '1 minute'"), [])
            #expect(try await Self.register(database, authTimeIn: nil) == "registered")
            let ends = try await database.run(
                Statement("SELECT coalesce(end_reason, 'live'), iat_after IS NULL FROM native_sso.session ORDER BY 1"),
                [])
            #expect(try ends.map { try $0.text(0) } == ["expired", "live"])
            #expect(try ends.allSatisfy { try $0.bool(1) == false })
        }
    }

    /// A thief with the service's password cannot store a logout that ends the logins of coming years.
    @Test func logoutIsNeverFarInTheFuture() async throws {
        try await TestDatabase.withWorld { database, _ in
            let later = UnixTime(seconds: Int64(time(nil)) + 1_000_000)
            _ = try await database.logOut(.user(Subject(validated: "user")), "one", issuedAt: later)
            _ = try await database.logOut(.session(SessionID(validated: "x")), "two", issuedAt: later)
            let planted = try await database.run(
                Statement(
                    """
                    SELECT FROM native_sso.session WHERE auth_time_after > now() + interval '2 minutes' UNION ALL
                    SELECT FROM native_sso.subject_logout WHERE issued_at > now() + interval '2 minutes'
                    """), [])
            #expect(planted.isEmpty)
        }
    }

    /// sid and both limits of each row; `now` stands for an instant of this test.
    private static func limits(_ database: PostgresFixture) async throws -> [[String]] {
        try await database.run(
            Statement(
                """
                SELECT CASE sid WHEN sha256('sid-1') THEN 'sid-1' WHEN sha256('sid-2') THEN 'sid-2' ELSE '?' END,
                    CASE WHEN iat_after > now() - interval '1 minute' THEN 'now' ELSE coalesce(iat_after::text, '') END,
                    CASE WHEN auth_time_after > now() - interval '1 minute' THEN 'now' ELSE coalesce(auth_time_after::text, '') END
                FROM native_sso.session ORDER BY 1, session_id
                """), []
        ).map { row in try (0..<3).map { try row.text($0) } }
    }

    /// - Parameter authTimeIn: Seconds from the limit of the name, else from now.
    private static func register(_ database: PostgresFixture, authTimeIn: Int64?) async throws -> String {
        let rows = try await database.run(
            Statement(
                """
                SELECT outcome FROM native_sso.register_session(
                    'https://idp.example.com', sha256('sid-1'), 'user',
                    p_auth_time => (
                        SELECT coalesce(max(auth_time_after), date_trunc('second', now())) + make_interval(secs => $1::bigint)
                        FROM native_sso.session))
                """), [authTimeIn.map { .int64($0) } ?? .null])
        return try #require(try rows.first?.text(0))
    }
}
