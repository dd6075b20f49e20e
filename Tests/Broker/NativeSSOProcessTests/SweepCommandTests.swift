import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso sweep, as a process on a database", .timeLimit(.minutes(10)))
struct SweepCommandTests {
    @Test func `it shows what would go, and removes it only when told to, with the reason in the audit`() async throws {
        try await Installation.withSchema { installation in
            _ = try await installation.cluster.psql(Self.addDeadSession, database: installation.database)
            let plan = try await installation.object("sweep")
            #expect(plan.bool("executed") == false)
            #expect(plan.array("consequences")?.first?.string == "1 session with its grants")
            #expect(try await Self.ask(installation, Self.sessions) == "1")

            let unexplained = try await installation.run(["sweep", "--execute"])
            #expect(unexplained.status == 2)

            let done = try await installation.object("sweep", "--execute", "--reason", "ticket 7")
            #expect(done.bool("executed") == true)
            #expect(try await Self.ask(installation, Self.sessions) == "0")
            #expect(try await Self.ask(installation, Self.audit) == "ticket 7 1")
        }
    }

    @Test func `the retention is shown and set, within its bounds and with the reason in the audit`() async throws {
        try await Installation.withSchema { installation in
            let before = try await installation.object("retention", "show")
            #expect(before.number("session_days")?.int64 == 90)
            #expect(before.number("audit_days")?.int64 == 400)

            let tooShort = try await installation.run(["retention", "set", "--session-days", "89"])
            #expect(tooShort.status == 2)
            #expect(tooShort.errors.contains("--session-days is from 90 to 3650."), "\(tooShort.errors)")
            #expect(try await installation.run(["retention", "set"]).status == 2)
            let service = try await installation.run(
                ["retention", "set", "--audit-days", "30"], environment: installation.serviceEnvironment)
            #expect(service.status == 3)
            #expect(service.errors.contains("the database user may not do this"), "\(service.errors)")

            let after = try await installation.object("retention", "set", "--audit-days", "30", "--reason", "ticket 8")
            #expect(after.number("session_days")?.int64 == 90)
            #expect(after.number("audit_days")?.int64 == 30)
            #expect(try await Self.ask(installation, Self.retentionAudit) == "ticket 8 90 30")
        }
    }

    @Test(arguments: [["sweep"], ["sweep", "--execute", "--reason", "r"]])
    func `what keeps it from sweeping is said as everywhere`(command: [String]) async throws {
        try await Installation.withFiles { installation in
            let unmigrated = try await installation.run(command)
            #expect(unmigrated.status == 3)
            #expect(
                unmigrated.errors
                    == "native-sso: the database does not have the schema of this version; type: native-sso migrate up\n"
            )
        }
        try await Installation.withSchema { installation in
            let schema = "REVOKE USAGE ON SCHEMA native_sso FROM native_sso_broker"
            _ = try await installation.cluster.psql(schema, database: installation.database)
            let refused = try await installation.run(command, environment: installation.serviceEnvironment)
            #expect(refused.status == 3)
            #expect(refused.errors.contains("the database user may not do this"), "\(refused.errors)")
        }
    }

    private static func ask(_ installation: Installation, _ question: String) async throws -> String {
        let answer = try await installation.cluster.psql(question, database: installation.database)
        return answer.split(separator: "\n").joined(separator: "\n")
    }

    private static let addDeadSession = """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        VALUES ('00000000-0000-7000-8000-000000000001', 'https://idp', sha256('s'), 'https://idp', sha256('s'), 'user',
            now() - interval '190 days', now() - interval '100 days', now() - interval '100 days')
        """
    private static let retentionAudit = """
        SELECT concat_ws(' ', reason, details->>'session_days', details->>'audit_days')
        FROM native_sso.audit_event WHERE kind = 'retention_set'
        """
    private static let sessions = "SELECT count(*) FROM native_sso.session"
    private static let audit =
        "SELECT reason || ' ' || (details->>'sessions') FROM native_sso.audit_event WHERE kind = 'swept'"
}
