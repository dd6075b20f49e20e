import BrokerHarness
import StrictCoding
import Testing

@testable import native_sso_bench

/// A soak of some seconds: too short to judge growth, long enough to sample and draw it.
@Suite(.timeLimit(.minutes(5))) struct SoakTests {
    @Test func everySampleHasMemoryDescriptorsAndTables() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"),
            ["soak", "--hours", "0.002", "--rate", "64", "--logins", "200"])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let soak = try #require(report.object("soak"))
        let figure = try #require(soak.array("figures")?.first?.object)
        #expect(figure.number("wrong_answers")?.int64 == 0 && figure.number("unavailable")?.int64 == 0)
        #expect(try #require(figure.number("requests")?.int64) > 200)
        for name in ["resident_kib", "descriptors", "table_octets", "rows", "wal_octets"] {
            let samples = try #require(soak.array(name)?.compactMap { $0.number?.int64 })
            #expect(samples.count == 9 && samples.allSatisfy { $0 > 0 }, "\(name): \(samples)")
        }
        // New logins came meanwhile.
        #expect(figure.number("sessions_ended")?.int64 ?? 0 > 0)
        let rows = try #require(soak.array("rows")?.compactMap { $0.number?.int64 })
        #expect(rows[8] > rows[0])
        let charts = try ReportCharts(report: Array(result.output.utf8)).charts
        #expect(charts.map(\.name) == ["soak"] && charts[0].chart.lines.map(\.points.count) == [9, 9])
    }
}
