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

    @Test func `a desk explains a request of an app, but no act of an operator, and ends the sessions of a device`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.cluster.makeLogin(role: Self.role, "IN ROLE native_sso_support")
            try await SessionCommandTests().put(installation)
            let broker = try await installation.startBroker("broker").ready()
            let login = try Login(installation, sid: "s-1")
            let answer = try await broker.token(login.exchange(by: "app2", scope: "openid payments"))
            #expect(answer.status == 400)
            try await broker.wait { _ in
                try await Self.desk(installation, "explain", answer.requestID, "--reason", "ticket 5").output.contains(
                    "scope_exceeds_client")
            }
            let ended = try await Self.desk(
                installation, "session", "end", "--device-of", "00000000-0000-7000-8000-000000000001", "--reason",
                "ticket 3", "--execute")
            #expect(ended.output.contains("-000000000001"), "\(ended.errors)")
            #expect(!ended.output.contains("-000000000002"), "\(ended.output)")
            let act = try await installation.object("session", "end", "--all", "--execute", "--reason", "x")
            let id = try #require(act.string("request_id"))
            let hidden = try await Self.desk(installation, "explain", id, "--reason", "ticket 6")
            #expect(hidden.status == 1 && hidden.errors.contains("nothing is recorded"), "\(hidden.errors)")
            let audit = try await installation.audit()
            #expect(audit.contains { $0.hasPrefix("request_explained|") && $0.contains("ticket 6") && $0.contains(id) })
        }
    }
}
