import StrictCoding
import Testing

@testable import native_sso_bench

struct ReportTests {
    @Test(arguments: [
        (1.0, 0, "1"), (1.5, 0, "2"), (0.05, 1, "0.1"), (12.3456, 3, "12.346"), (0.001, 3, "0.001"),
        (-0.0001, 3, "0.000"),
        (-2.5, 1, "-2.5"), (0.999, 2, "1.00"), (1e9, 2, "1000000000.00"), (.nan, 2, "0"), (.infinity, 2, "0"),
        (1e300, 2, "0"),
    ])
    func numbersAreWrittenAsPeopleAndJSONReadThem(_ value: Double, _ digits: Int, _ text: String) {
        #expect(value.rounded(to: digits) == text)
    }

    @Test func aFigureIsItsMedianAndItsSpread() throws {
        var figure = Figure(["kind": .string("refresh"), "connections": .integer(64)])
        figure.add([.perSecond: 900, .p99: 12.5])
        figure.add([.perSecond: 1100, .p99: 10.5])
        // A value that is not a number does not count as a round.
        figure.add([.perSecond: 1000, .p99: .nan])
        figure.count("requests", 40)
        figure.count("requests", 2)
        var section = Section("refresh", facts: [("logins", .integer(20_000))], figures: [figure])
        let written = try Self.json([section])
        #expect(written.object("refresh")?.number("logins")?.int64 == 20_000)
        let read = try #require(written.object("refresh")?.array("figures")?.first?.object)
        #expect(read.string("kind") == "refresh" && read.number("connections")?.int64 == 64)
        #expect(read.number("requests")?.int64 == 42)
        let throughput = try #require(read.object("per_second"))
        #expect(
            throughput.members.map { "\($0.name) \($0.value.number?.text ?? "")" }
                == ["median 1000.000", "min 900.000", "max 1100.000"])
        #expect(read.object("latency_p99_ms")?.number("median")?.text == "11.500")
        #expect(!read.contains("broker_cpu_us"))

        // The table has a column for what was measured and no other.
        let (head, row) = (
            "   kind  connections  per_second  latency_p99_ms", "refresh           64        1000           11.50"
        )
        #expect(section.table == "\nrefresh\n\(head)\n\(row)\n")
        section.figures[0].count("wrong_answers", 3)
        #expect(section.wrongAnswers == 3)
        #expect(section.table.contains("wrong_answers"))
    }

    @Test func theTableOfTheGuideIsMadeOfAReport() throws {
        var figure = Self.figure("repeated", connections: 16, broker: "RS256")
        figure.add([
            .perSecond: 12_345.6, .p50: 4.04, .p99: 10.96, .brokerCPU: 99.6, .postgresqlCPU: 30.2, .residentKiB: 57_344,
            .cryptographyRatio: 1.342,
        ])
        let report = try Self.json([Section("exchange", figures: [figure])])
        let rows = try MarkdownTable(report: report.octets).text.split(separator: "\n")
        #expect(rows.count == 3)
        #expect(
            rows[2]
                == "| ES256 to RS256 | `repeated` | 16 | 12,346 | 4.0 ms | 11.0 ms | 100 µs | 30 µs | 56 MiB | 1.34 |")
        #expect(throws: MarkdownTable.Unreadable.self) { try MarkdownTable(report: Array("{}".utf8)) }
    }

    @Test func aReportHasThreeChartsOfOnePairOfAlgorithms() throws {
        let charts = try ReportCharts(report: Self.loads(connections: [1, 4, 16])).charts
        #expect(charts.map(\.name) == ["throughput", "cpu", "latency"])
        #expect(charts[0].chart.lines.map(\.name) == ["repeated", "refresh"])
        #expect(charts[0].chart.lines[0].points.map(\.x) == [1, 4, 16])
        #expect(charts[0].chart.lines[0].points.map(\.y) == [1000, 4000, 16_000])
        #expect(charts[1].chart.lines.map(\.name).contains("refresh, PostgreSQL"))
        #expect(charts[2].chart.lines.last?.points.map(\.x) == [1000, 4000, 16_000])
        #expect(charts[2].chart.lines.last?.points.map(\.y) == [4, 4, 4])
        #expect(throws: ReportCharts.Unreadable.self) { try ReportCharts(report: Self.loads(connections: [16])) }
    }

    /// The highest point stands at the top of the axis or just below, and more connections stand further right.
    @Test func aPointStandsWhereItsValuesSay() {
        let chart = Chart(
            title: "a < b & c", xTitle: "x", yTitle: "y", hasLogarithmicX: true,
            lines: [Chart.Line(name: "l", points: [(1, 0), (4, 50), (16, 100)], hue: 0)])
        #expect(chart.svg.contains("points=\"70.0,330.0 315.0,189.0 560.0,48.0\""))
        #expect(chart.svg.contains("<title>a &lt; b &amp; c</title>"))
    }

    private static func figure(_ kind: String, connections: Int, broker: String = "ES256") -> Figure {
        Figure([
            "identity_provider": .string("ES256"), "broker": .string(broker), "kind": .string(kind),
            "connections": .integer(connections),
        ])
    }

    private static func loads(connections: [Int]) throws -> [UInt8] {
        func loaded(_ kind: String, _ connections: Int, broker: String = "ES256") -> Figure {
            var figure = Self.figure(kind, connections: connections, broker: broker)
            figure.add([
                .perSecond: Double(connections) * 1000, .p50: 1, .p99: 4, .brokerCPU: 80, .postgresqlCPU: 40,
            ])
            return figure
        }
        let exchanges =
            connections.reversed().map { loaded("repeated", $0) } + [loaded("repeated", 4, broker: "RS256")]
        let refreshes = connections.map { loaded("refresh", $0) }
        return try json([Section("exchange", figures: exchanges), Section("refresh", figures: refreshes)]).octets
    }

    private static func json(_ sections: [Section]) throws -> JSONObject {
        var json = JSONWriter()
        json.object { json in for section in sections { section.write(to: &json) } }
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        return try #require(try JSONReader.parse(json.bytes, limits: limits).object)
    }
}
