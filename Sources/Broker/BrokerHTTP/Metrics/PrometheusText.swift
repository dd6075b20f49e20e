/// Writes the Prometheus text exposition format, version 0.0.4. Names and labels come from closed sets and need no escape.
struct PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    private static let prefix = "native_sso_"

    mutating func family(_ name: String, _ help: String, _ kind: MetricSample.Kind) {
        header(name, help, kind.rawValue)
    }

    mutating func histogramFamily(_ name: String, _ help: String) {
        header(name, help, "histogram")
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Int64) {
        line(name, labels, String(value))
    }

    mutating func histogram(_ name: String, _ labels: [(String, String)], _ histogram: Histogram) {
        let counts = histogram.cumulative
        for (bound, count) in zip(Histogram.bounds, counts) {
            line("\(name)_bucket", labels + [("le", Self.seconds(bound))], String(count))
        }
        let all = String(counts.last ?? 0)
        line("\(name)_bucket", labels + [("le", "+Inf")], all)
        line("\(name)_sum", labels, Self.seconds(histogram.sumMicroseconds))
        line("\(name)_count", labels, all)
    }

    private mutating func header(_ name: String, _ help: String, _ kind: String) {
        text += "# HELP \(Self.prefix)\(name) \(help)\n# TYPE \(Self.prefix)\(name) \(kind)\n"
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
        let list = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
        text += "\(Self.prefix)\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    private static func seconds(_ microseconds: Int64) -> String { String(Double(microseconds) / 1_000_000) }
}
