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

    private static var section: Section {
        var figure = Figure(["kind": .string("refresh"), "connections": .integer(64)])
        figure.add([.perSecond: 900, .p99: 12.5])
        figure.add([.perSecond: 1100, .p99: 10.5])
        figure.add([.perSecond: 1000, .p99: .nan])
        figure.count("requests", 40)
        figure.count("requests", 2)
        var section = Section("refresh")
        section.facts = [("logins", .integer(20_000))]
        section.figures = [figure]
        return section
    }

    @Test func aFigureIsItsMedianAndItsSpread() throws {
        var json = JSONWriter()
        json.object { Self.section.write(to: &$0) }
        let root = try #require(try JSONReader.parse(json.bytes).object)
        let section = try #require(root.object("refresh"))
        #expect(section.number("logins")?.int64 == 20_000)
        let figure = try #require(section.array("figures")?.first?.object)
        #expect(figure.string("kind") == "refresh")
        #expect(figure.number("connections")?.int64 == 64)
        #expect(figure.number("requests")?.int64 == 42)
        let throughput = try #require(figure.object("per_second"))
        #expect(throughput.members.map(\.name) == ["median", "min", "max"])
        #expect(throughput.number("median")?.text == "1000.000")
        #expect(throughput.number("min")?.text == "900.000")
        #expect(throughput.number("max")?.text == "1100.000")
        // A value that is not a number does not count as a round.
        #expect(figure.object("latency_p99_ms")?.number("median")?.text == "11.500")
        #expect(!figure.contains("broker_cpu_us"))
    }

    @Test func aTableHasAColumnForWhatWasMeasuredAndNoOther() {
        let lines = Self.section.table.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1] == "   kind  connections  per s  p99 ms")
        #expect(lines[2] == "refresh           64   1000   11.50")
    }

    @Test func theTableOfTheReadmeIsMadeOfAReport() throws {
        var figure = Figure([
            "identity_provider": .string("ES256"), "broker": .string("RS256"), "kind": .string("repeated"),
            "connections": .integer(16),
        ])
        figure.add([
            .perSecond: 12_345.6, .p50: 4.04, .p99: 10.96, .brokerCPU: 99.6, .postgresqlCPU: 30.2, .residentKiB: 57_344,
            .cryptographyRatio: 1.342,
        ])
        var exchange = Section("exchange")
        exchange.figures = [figure]
        var json = JSONWriter()
        json.object { json in
            exchange.write(to: &json)
            Self.section.write(to: &json)
        }
        let rows = try MarkdownTable(report: json.bytes).text.split(separator: "\n")
        #expect(rows.count == 4)
        #expect(
            rows[2]
                == "| ES256 to RS256 | `repeated` | 16 | 12,346 | 4.0 ms | 11.0 ms | 100 µs | 30 µs | 56 MiB | 1.34 |")
        #expect(rows[3].hasPrefix("|  to  | `refresh` | 64 | 1,000 |"))
        #expect(throws: MarkdownTable.Unreadable.self) { try MarkdownTable(report: Array("{}".utf8)) }
    }

    @Test func failuresAreShown() {
        var section = Self.section
        section.figures[0].count("wrong_answers", 3)
        #expect(section.wrongAnswers == 3)
        #expect(section.table.contains("wrong_answers"))
    }

    @Test func everyMetricHasANameAndATitleOfItsOwn() {
        #expect(Set(Metric.allCases.map(\.title)).count == Metric.allCases.count)
        #expect(
            Metric.allCases.allSatisfy {
                $0.rawValue.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
            })
    }
}
