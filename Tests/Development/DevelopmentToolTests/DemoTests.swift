import BrokerHarness
import Testing

@testable import native_sso_dev

/// What the demonstration says at its end. `deploy/test` runs it.
@Suite(.timeLimit(.minutes(5))) struct DemoTests {
    @Test func aPortInUseIsNamed() async throws {
        let run = try await DevelopmentRun()
        let port = try run.port("page")
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-dev"), ["demo", "--once", "--port-base", String(port - 6)])
        #expect(result.status == 1)
        #expect(result.errors.contains(/Port \d+ is in use\. --port-base N takes seven other/), "\(result.errors)")
    }

    @Test func aFailedScenarioIsSeenInTheTable() {
        var table = ScenarioTable([.deviceID, .enrolled])
        table.record(Scenario.all[0], .deviceID, passed: true)
        table.record(Scenario.all[0], .enrolled, passed: false)
        #expect(table.failures == 1)
        #expect(table.lines.count == Scenario.all.count + Document.allCases.count + 1)
        #expect(table.lines.contains { $0.contains("steps 1–17") && $0.contains("passed") && $0.contains("FAILED") })
        #expect(table.lines.count { $0.hasSuffix("–") } == Scenario.all.count - 1)
    }
}
