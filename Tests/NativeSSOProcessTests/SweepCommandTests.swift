import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso sweep, as a process on a database", .timeLimit(.minutes(10)))
struct SweepCommandTests {
    @Test func `it shows what would go, and removes it only when told to, with the reason in the audit`() async throws {
        try await Installation.lendReady { installation in
            _ = try await installation.cluster.psql(Self.addDeadSession, database: installation.database)
            let plan = try await installation.object("sweep")
            #expect(plan.bool("executed") == false)
            #expect(plan.array("consequences")?.first?.string == "1 sessions with their grants")
            #expect(try await Self.ask(installation, Self.sessions) == "1")

            let unexplained = try await installation.run(["sweep", "--execute"])
            #expect(unexplained.status == 2)

            let done = try await installation.object("sweep", "--execute", "--reason", "ticket 7")
            #expect(done.bool("executed") == true)
            #expect(try await Self.ask(installation, Self.sessions) == "0")
            #expect(try await Self.ask(installation, Self.audit) == "ticket 7 1")
        }
    }

    @Test(arguments: [["sweep"], ["sweep", "--execute", "--reason", "r"]])
    func `what keeps it from sweeping is said as everywhere`(command: [String]) async throws {
        try await Installation.lend { installation in
            let unmigrated = try await installation.run(command)
            #expect(unmigrated.status == 3)
            #expect(
                unmigrated.errors
                    == "native-sso: the database has not the schema of this version; type: native-sso migrate up\n")
        }
        try await Installation.lendReady { installation in
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
        VALUES ('00000000-0000-7000-8000-000000000001', 'https://idp', 's', 'https://idp', 's', 'user',
            now() - interval '190 days', now() - interval '100 days', now() - interval '100 days')
        """
    private static let sessions = "SELECT count(*) FROM native_sso.session"
    private static let audit =
        "SELECT reason || ' ' || (details->>'sessions') FROM native_sso.audit_event WHERE kind = 'swept'"
}
