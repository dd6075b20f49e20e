import Foundation
import StrictCoding
import Testing

@testable import native_sso_bench

struct ChartTests {
    private static func report(connections: [Int]) -> [UInt8] {
        func figure(_ kind: String, _ broker: String, _ connections: Int) -> Figure {
            var figure = Figure([
                "identity_provider": .string("ES256"), "broker": .string(broker), "kind": .string(kind),
                "connections": .integer(connections),
            ])
            let load = Double(connections) * 1000
            figure.add([.perSecond: load, .p50: 1, .p99: 4, .brokerCPU: 80, .postgresqlCPU: 40])
            return figure
        }
        var exchange = Section("exchange")
        exchange.figures =
            connections.reversed().map { figure("repeated", "ES256", $0) } + [figure("repeated", "RS256", 4)]
        var refresh = Section("refresh")
        refresh.figures = connections.map { figure("refresh", "ES256", $0) }
        var json = JSONWriter()
        json.object { json in
            exchange.write(to: &json)
            refresh.write(to: &json)
        }
        return json.bytes
    }

    @Test func aReportHasThreeChartsOfOnePairOfAlgorithms() throws {
        let charts = try ReportCharts(report: Self.report(connections: [1, 4, 16])).charts
        #expect(charts.map(\.name) == ["throughput", "cpu", "latency"])
        #expect(charts[0].chart.lines.map(\.name) == ["repeated", "refresh"])
        #expect(charts[0].chart.lines[0].points.map(\.x) == [1, 4, 16])
        #expect(charts[0].chart.lines[0].points.map(\.y) == [1000, 4000, 16_000])
        #expect(charts[1].chart.lines.map(\.name).contains("refresh, PostgreSQL"))
        #expect(charts[2].chart.lines.last?.points.map(\.x) == [1000, 4000, 16_000])
        #expect(charts[2].chart.lines.last?.points.map(\.y) == [4, 4, 4])
    }

    @Test func oneNumberOfConnectionsIsNoLine() {
        #expect(throws: ReportCharts.Unreadable.self) { try ReportCharts(report: Self.report(connections: [16])) }
        #expect(throws: ReportCharts.Unreadable.self) { try ReportCharts(report: Array("{}".utf8)) }
    }

    @Test func aFailoverIsATimeLine() throws {
        let report = """
            {"failover": {"step_ms": 100, "killed_at_ms": 5000, "granted": [60, 0, 61], "unavailable": [0, 64, 0],
             "figures": [{"granted_after_ms": {"median": 310.5}}]}}
            """
        let charts = try ReportCharts(report: Array(report.utf8)).charts
        #expect(charts.map(\.name) == ["failover"])
        #expect(charts[0].chart.title == "Failover: primary killed at 5.0 s, exchanges again 0.3 s later")
        #expect(charts[0].chart.lines.map(\.name) == ["granted", "unavailable"])
        #expect(charts[0].chart.lines[0].points.map(\.y) == [600, 0, 610])
        #expect(charts[0].chart.lines[1].points.map(\.x) == [0.1, 0.2, 0.3])
    }

    @Test func aChartIsXMLThatKeepsToItsFrame() throws {
        for (name, chart) in try ReportCharts(report: Self.report(connections: [1, 4, 16])).charts {
            let svg = chart.svg
            #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n") && svg.contains("prefers-color-scheme: dark"))
            let lines = svg.matches(of: /<polyline [^>]*points="([^"]+)"/).map(\.output.1)
            #expect(lines.count == chart.lines.count, "\(name)")
            for point in lines.flatMap({ $0.split(separator: " ") }) {
                let numbers = point.split(separator: ",").compactMap { Double($0) }
                #expect(numbers.count == 2 && (0...760).contains(numbers[0]) && (0...380).contains(numbers[1]))
            }
        }
    }

    /// The highest point stands at the top of the axis or just below, and more connections stand further right.
    @Test func aPointStandsWhereItsValuesSay() {
        let chart = Chart(
            title: "a < b & c", xTitle: "x", yTitle: "y", hasLogarithmicX: true,
            lines: [Chart.Line(name: "l", points: [(1, 0), (4, 50), (16, 100)], hue: 0)])
        #expect(chart.svg.contains("points=\"70.0,330.0 315.0,189.0 560.0,48.0\""))
        #expect(chart.svg.contains("<title>a &lt; b &amp; c</title>"))
    }
}
