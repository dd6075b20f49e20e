import StrictCoding

/// The figures of a report as the table that a page of the guide has: exchanges and refreshes, or ends of sessions.
struct MarkdownTable {
    struct Unreadable: Error, CustomStringConvertible {
        var description: String { "this is no report of exchange, refresh or ends" }
    }

    private static let head = [
        "id_token to access token", "request", "connections", "per second", "p50", "p99", "CPU of the broker",
        "CPU of PostgreSQL", "resident", "broker to raw crypto",
    ]

    let text: String

    /// - Parameter report: The JSON of a run.
    init(report: [UInt8]) throws {
        let limits = JSONLimits(depth: 8, members: 100_000, elements: 10_000)
        let root = try JSONReader.parse(report, limits: limits).object
        func figures(_ sections: String...) -> [JSONObject] {
            sections.flatMap { root?.object($0)?.array("figures") ?? [] }.compactMap(\.object)
        }
        let (grants, ends) = (figures("exchange", "refresh"), figures("ends"))
        guard !grants.isEmpty || !ends.isEmpty else { throw Unreadable() }
        let (head, rows) = grants.isEmpty ? (Self.headOfEnds, ends.map(Self.end)) : (Self.head, grants.map(Self.row))
        let lines = [head, head.map { _ in "---" }] + rows
        text = lines.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    private static let headOfEnds = [
        "the session is ended by", "the end is answered", "another broker refuses", "`TokenVerifier` refuses",
    ]

    private static func end(_ figure: JSONObject) -> [String] {
        [figure.string("cause") ?? ""]
            + [.endAnswered, .endRefused, .accessTokenDead].map { median(of: $0, figure, 1, " ms") }
    }

    private static func median(
        of metric: Metric, _ figure: JSONObject, _ digits: Int, _ unit: String = "", per divisor: Double = 1
    ) -> String {
        let median = figure.object(metric.rawValue)?.number("median").flatMap { Double($0.text) }
        return median.map { ($0 / divisor).rounded(to: digits) + unit } ?? ""
    }

    private static func row(_ figure: JSONObject) -> [String] {
        func number(_ metric: Metric, _ digits: Int, _ unit: String = "", per divisor: Double = 1) -> String {
            median(of: metric, figure, digits, unit, per: divisor)
        }
        return [
            "\(figure.string("identity_provider") ?? "") to \(figure.string("broker") ?? "")",
            "`\(figure.string("kind") ?? "")`", figure.number("connections")?.text ?? "",
            grouped(number(.perSecond, 0)), number(.p50, 1, " ms"), number(.p99, 1, " ms"),
            number(.brokerCPU, 0, " µs"), number(.postgresqlCPU, 0, " µs"),
            number(.residentKiB, 0, " MiB", per: 1024), number(.cryptographyRatio, 2),
        ]
    }

    /// With a comma before each three digits.
    private static func grouped(_ digits: String) -> String {
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
