import Foundation
import BrokerHarness
import Testing

/// `native-sso-dev demo` as a process of its own.
@Suite(.timeLimit(.minutes(10))) struct DemoTests {
    @Test func everyStepIsAsExpected() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-dev"), ["demo", "--once", "--port-base", "0"],
            within: .seconds(540))
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.last == "Every step was as expected.")
        // Both profiles from the first step to the last, the older token type up to its tokens, and enrolled logins, by
        // id_token and by code, up to their exchange.
        for (step, walks) in [(0, 5), (7, 5), (8, 5), (10, 5), (12, 4), (14, 2), (17, 2), (20, 2)] {
            let label = step < 10 ? "[ \(step)]" : "[\(step)]"
            #expect(lines.count { $0.hasPrefix(label) } == walks, "\(label)")
        }
        #expect(lines.count { $0.contains("← 200 access_token=eyJh") } >= 10)
        // No token, code or secret appears in full: each has at least 43 characters without a break. Other texts of
        // that length are public: the session's name in claims and on the operator's command line.
        let long = lines.filter { !$0.contains("sid") }.flatMap { $0.matches(of: /[A-Za-z0-9_\-]{43,}/) }
        #expect(long.isEmpty, "\(long.map(\.output))")
    }
}
