import StrictCoding

/// The figures of a report as the table that a page of the guide has: exchanges and refreshes.
struct MarkdownTable {
    struct Unreadable: Error, CustomStringConvertible {
        var description: String { "this is no report of exchange or refresh" }
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
        let figures = ["exchange", "refresh"].flatMap { root?.object($0)?.array("figures") ?? [] }.compactMap(\.object)
        guard !figures.isEmpty else { throw Unreadable() }
        let lines = [Self.head, Self.head.map { _ in "---" }] + figures.map(Self.row)
        text = lines.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    private static func row(_ figure: JSONObject) -> [String] {
        func number(_ metric: Metric, _ digits: Int, _ unit: String = "", per divisor: Double = 1) -> String {
            let median = figure.object(metric.rawValue)?.number("median").flatMap { Double($0.text) }
            return median.map { ($0 / divisor).rounded(to: digits) + unit } ?? ""
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
