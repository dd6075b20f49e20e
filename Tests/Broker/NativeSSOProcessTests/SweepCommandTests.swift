import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso sweep, as a process on a database", .timeLimit(.minutes(10)))
struct SweepCommandTests {
    @Test func `it shows what would go, and removes it only when told to, with the reason in the audit`() async throws {
        try await Installation.withSchema { installation in
            let sql = try installation.session()
            try await sql.rows(Self.addDeadSession)
            let sessions = "SELECT count(*) FROM native_sso.session"
            let plan = try await installation.object("sweep")
            #expect(plan.bool("executed") == false)
            #expect(plan.array("consequences")?.first?.string == "1 session with its grants")
            #expect(try await sql.row(sessions) == "1")

            let done = try await installation.object("sweep", "--execute", "--reason", "ticket 7")
            #expect(done.bool("executed") == true)
            #expect(try await sql.row(sessions) == "0")
            let audit = "SELECT reason, details->>'sessions' FROM native_sso.audit_event WHERE kind = 'swept'"
            #expect(try await sql.row(audit) == "ticket 7|1")
        }
    }

    private static let addDeadSession = """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        VALUES ('00000000-0000-7000-8000-000000000001', 'https://idp', sha256('s'), 'https://idp', sha256('s'), 'user',
            now() - interval '190 days', now() - interval '100 days', now() - interval '100 days')
        """
}
