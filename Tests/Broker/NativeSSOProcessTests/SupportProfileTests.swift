import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso --profile support", .timeLimit(.minutes(10)))
struct SupportProfileTests {
    private static let role = "process_tests_desk"

    /// Runs a command of the profile as a member of `native_sso_support` and nothing more.
    private static func desk(
        _ installation: Installation, _ arguments: String...
    ) async throws -> ManagedProcess.Outcome {
        try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"),
            ["--profile", "support"] + arguments
                + ["--config", installation.file("\(Installation.administration).yaml")],
            environment: [
                "NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(
                    database: installation.database, user: role)
            ])
    }

    private static func withDesk(_ body: @Sendable (Installation) async throws -> Void) async throws {
        try await Installation.withSchema { installation in
            try await installation.cluster.makeLogin(role: role, "IN ROLE native_sso_support")
            try await SessionCommandTests().put(installation)
            try await body(installation)
        }
    }

    @Test func `a desk finds and ends the sessions of one user, and each look is in the audit`() async throws {
        try await Self.withDesk { installation in
            let found = try await Self.desk(
                installation, "session", "list", "--sub", "user", "--reason", "ticket 1", "--json")
            #expect(found.status == 0, "\(found.errors)")
            let rows = try JSONReader.parse(Array(found.output.utf8)).object?.array("sessions")
            #expect(rows?.count == 2 && rows?.first?.object?.strings("apps") == ["app2"])
            let plan = try await Self.desk(installation, "session", "end", "--sub", "user", "--reason", "ticket 2")
            #expect(plan.status == 0 && plan.errors.contains("a login page for 1 user."), "\(plan.errors)")
            let ended = try await Self.desk(
                installation, "session", "end", "--device-of", "00000000-0000-7000-8000-000000000001", "--reason",
                "ticket 3", "--execute")
            #expect(ended.status == 0 && ended.output.contains("000000000001"), "\(ended.errors)")
            #expect(!ended.output.contains("000000000002"))
            let again = try await Self.desk(
                installation, "session", "end", "--device-of", "00000000-0000-7000-8000-000000000001", "--reason",
                "ticket 4", "--execute")
            #expect(again.status == 1 && again.errors.contains("no such session is live"))
            let audit = try await installation.audit()
            func has(_ kind: String, _ ticket: String) -> Bool {
                audit.contains { $0.hasPrefix("\(kind)|") && $0.contains(ticket) && $0.contains(Self.role) }
            }
            #expect(has("sessions_found", "ticket 1") && has("sessions_found", "ticket 2"))
            #expect(has("session_ended", "ticket 3"))
        }
    }

    @Test func `a desk explains a request of an app, and no act of an operator`() async throws {
        try await Self.withDesk { installation in
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "s-1")
            let answer = try await broker.post(login.exchange(by: "app2", scope: "openid payments"))
            #expect(answer.status == 400)
            try await broker.wait { _ in
                try await Self.desk(installation, "explain", answer.requestID, "--reason", "ticket 5").output.contains(
                    "scope_exceeds_client")
            }
            let act = try await installation.run([
                "--json", "session", "end", "--all", "--execute", "--reason", "x",
            ])
            let id = try #require(try JSONReader.parse(Array(act.output.utf8)).object?.string("request_id"))
            let hidden = try await Self.desk(installation, "explain", id, "--reason", "ticket 6")
            #expect(hidden.status == 1 && hidden.errors.contains("nothing is recorded"), "\(hidden.errors)")
            let audit = try await installation.audit()
            #expect(audit.contains { $0.hasPrefix("request_explained|") && $0.contains("ticket 6") && $0.contains(id) })
        }
    }

    @Test func `a desk has no other command, and needs its role and a reason`() async throws {
        try await Self.withDesk { installation in
            for wrong in [
                ["session", "list", "--sub", "user"], ["session", "list", "--reason", "t"], ["client", "list"],
                ["session", "end", "--all", "--reason", "t"], ["migrate", "up"],
            ] {
                let outcome = try await ManagedProcess.run(
                    try BuildProducts.path(of: "native-sso"), ["--profile", "support"] + wrong)
                #expect(outcome.status == 2, "\(wrong): \(outcome.errors)")
            }
            let other = try await ManagedProcess.run(
                try BuildProducts.path(of: "native-sso"), ["--profile", "admin", "client", "list"])
            #expect(other.status == 2 && other.errors.contains("the only profile is"))
            let service = try await installation.run(
                ["explain", "01900000-0000-7000-8000-000000000000"], environment: installation.serviceEnvironment)
            #expect(service.status == 3)
            let stranger = try await ManagedProcess.run(
                try BuildProducts.path(of: "native-sso"),
                [
                    "--profile=support", "explain", "01900000-0000-7000-8000-000000000000", "--reason", "t", "--config",
                    installation.file("\(Installation.administration).yaml"),
                ], environment: installation.serviceEnvironment)
            #expect(stranger.status == 3 && stranger.errors.contains("native_sso_support"), "\(stranger.errors)")
            let help = try await ManagedProcess.run(
                try BuildProducts.path(of: "native-sso"), ["--profile", "support", "--help"])
            #expect(help.status == 0 && help.output.contains("explain") && !help.output.contains("migrate"))
        }
    }
}
