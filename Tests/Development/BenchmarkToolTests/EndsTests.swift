import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// The end of a session by each cause, with the real poller and verifier of a resource server.
@Suite(.timeLimit(.minutes(5))) struct EndsTests {
    @Test func everyCauseEndsTheLoginAndTheAccessToken() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["ends", "--rounds", "1"])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("ends")?.array("figures") ?? []).compactMap(\.object)
        #expect(
            figures.map { $0.string("cause") } == [
                "logout token", "/revoke with device_id", "/global-token-revocation",
                "security event session-revoked", "session end", "support_end_sessions",
            ])
        let rows = try MarkdownTable(report: Array(result.output.utf8)).text.split(separator: "\n")
        #expect(rows.count == 2 + 6 && rows.dropFirst(2).allSatisfy { $0.split(separator: " ms |").count == 3 })
        for figure in figures {
            for metric in ["end_answered_ms", "refused_elsewhere_ms", "access_token_refused_ms"] {
                #expect(figure.object(metric) != nil, "\(metric)")
            }
        }
    }
}
