import Foundation
import StrictCoding
import BrokerHarness
import Testing

/// The end of a user with many sessions, few of them.
@Suite(.timeLimit(.minutes(5))) struct LogoutTests {
    @Test func everySessionOfTheUserIsDeadAtBothBrokers() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"),
            ["logout", "--rounds", "1", "--seconds", "1", "--sessions", "1200", "--rate", "32"])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("logout")?.array("figures") ?? []).compactMap(\.object)
        #expect(figures.map { $0.string("load") } == ["before", "meanwhile"])
        #expect(figures.allSatisfy { $0.number("wrong_answers")?.int64 == 0 && $0.object("latency_p99_ms") != nil })
        let meanwhile = try #require(figures.last)
        #expect(meanwhile.object("logout_answered_ms") != nil && meanwhile.object("last_session_dead_ms") != nil)
        // All of them, at both brokers.
        #expect(meanwhile.number("refused_afterwards")?.int64 == 2400)
    }
}
