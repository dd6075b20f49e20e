import BrokerHarness
import Foundation
import Testing

@testable import native_sso_dev

/// `native-sso-dev demo` as a process of its own.
@Suite(.timeLimit(.minutes(10))) struct DemoTests {
    @Test func everyScenarioPassesInEveryWalk() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-dev"), ["demo", "--once", "--port-base", "0"],
            within: .seconds(540))
        let lines = result.output.split(separator: "\n")
        #expect(
            result.status == 0, "\(result.errors)\n\(lines.filter { $0.contains("FAILED") }.joined(separator: "\n"))")
        #expect(lines.first?.hasPrefix("http://127.0.0.1:") == true)
        #expect(lines.last == "Every scenario was as expected.")
        let table = lines.suffix(while: { !$0.hasPrefix("scenario ") })
        // 31 scenarios in five walks.
        #expect(Scenario.all.count == 31)
        #expect(table.count { $0.matches(of: /passed/).count == 5 } == 31)
        #expect(table.count { $0.hasPrefix("003 hand-off to the web  ") } == 1)
        // The numbered steps of each document, in all five walks.
        for step in [
            "000 1.1", "000 1.17", "000 2A", "000 2B.6", "000 2D.4", "000 14", "000 storage", "001 1.9", "001 2a.2",
            "001 2b.4", "001 2c.2", "001 JWKS", "001 rotation.3", "002 [0]", "002 [8]", "002 [10]", "002 6.1",
            "002 6.4", "002 logout", "003 callback", "003 consent", "003 hand-off", "003 methods", "003 userinfo",
            "004 1", "004 10",
        ] {
            #expect(lines.count { $0.hasPrefix("\(step)  ") } >= 5, "\(step)")
        }
        #expect(lines.count { $0.contains("← 200 access_token=eyJh") } >= 10)
        // No token, code or secret appears in full: each has at least 43 characters without a break. Other texts of
        // that length are public: the session's name in claims and on the operator's command line, a challenge, and the
        // id of an access token.
        let long = lines.filter { line in
            !line.contains("sid") && !["code_challenge", "jti"].contains { line.hasPrefix("     \($0): ") }
        }.flatMap { $0.matches(of: /[A-Za-z0-9_\-]{43,}/) }
        #expect(long.isEmpty, "\(long.map(\.output))")
    }

    @Test func aFailedScenarioIsSeenInTheTable() {
        var table = ScenarioTable([.deviceID, .enrolled])
        table.record(Scenario.all[0], .deviceID, passed: true)
        table.record(Scenario.all[0], .enrolled, passed: false)
        #expect(table.failures == 1)
        #expect(table.lines.count == Scenario.all.count + 1)
        #expect(table.lines.contains { $0.contains("steps 1–17") && $0.contains("passed") && $0.contains("FAILED") })
        #expect(table.lines.count { $0.hasSuffix("–") } == Scenario.all.count - 1)
    }
}

extension Array {
    /// The elements after the last one that does not fulfil the condition.
    fileprivate func suffix(while condition: (Element) -> Bool) -> ArraySlice<Element> {
        guard let last = lastIndex(where: { !condition($0) }) else { return self[...] }
        return self[(last + 1)...]
    }
}
