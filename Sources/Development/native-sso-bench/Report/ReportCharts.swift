import StrictCoding

/// The charts of a report: of `exchange` and `refresh` at several numbers of connections, and of `soak`.
struct ReportCharts {
    struct Unreadable: Error, CustomStringConvertible {
        var description: String {
            "the report has neither exchange or refresh at two numbers of connections, nor soak"
        }
    }

    /// By the name of the file.
    let charts: [(name: String, chart: Chart)]

    /// - Parameter report: The JSON of a run.
    init(report: [UInt8]) throws {
        let limits = JSONLimits(depth: 8, members: 100_000, elements: 10_000)
        let root = try JSONReader.parse(report, limits: limits).object
        let figures = ["exchange", "refresh"].flatMap { root?.object($0)?.array("figures") ?? [] }.compactMap(\.object)
        // One pair of algorithms: that of the first figure.
        let algorithms = figures.first.map(Self.algorithms)
        var kinds: [(name: String, figures: [JSONObject])] = []
        for figure in figures where Self.algorithms(figure) == algorithms {
            guard let kind = figure.string("kind") else { continue }
            if let index = kinds.firstIndex(where: { $0.name == kind }) {
                kinds[index].figures.append(figure)
            } else {
                kinds.append((kind, [figure]))
            }
        }
        kinds.removeAll { Set($0.figures.compactMap { $0.number("connections")?.int64 }).count < 2 }
        let soak = root?.object("soak").flatMap(Self.soak)
        guard !kinds.isEmpty || soak != nil else { throw Unreadable() }

        func lines(
            _ suffix: String, _ x: (JSONObject) -> Double?, _ y: Metric, isDashed: Bool = false
        ) -> [Chart.Line] {
            kinds.enumerated().map { index, kind in
                let points = kind.figures.compactMap { figure -> (x: Double, y: Double)? in
                    guard let x = x(figure), let y = Self.median(figure, y), x > 0 else { return nil }
                    return (x, y)
                }
                return Chart.Line(
                    name: kind.name + suffix, points: points.sorted { $0.x < $1.x }, isDashed: isDashed, hue: index)
            }.filter { !$0.points.isEmpty }
        }
        func connections(_ figure: JSONObject) -> Double? { figure.number("connections").flatMap { Double($0.text) } }
        func load(_ figure: JSONObject) -> Double? { Self.median(figure, .perSecond) }
        let requests = [
            (
                "throughput",
                Chart(
                    title: "Throughput, \(algorithms ?? "")", xTitle: "connections", yTitle: "requests per second",
                    hasLogarithmicX: true, lines: lines("", connections, .perSecond))
            ),
            (
                "cpu",
                Chart(
                    title: "CPU, \(algorithms ?? "")", xTitle: "connections", yTitle: "µs per request",
                    hasLogarithmicX: true,
                    lines: lines(", broker", connections, .brokerCPU)
                        + lines(", PostgreSQL", connections, .postgresqlCPU, isDashed: true))
            ),
            (
                "latency",
                Chart(
                    title: "Latency, \(algorithms ?? "")", xTitle: "requests per second", yTitle: "ms",
                    hasLogarithmicX: false,
                    lines: lines(", p50", load, .p50) + lines(", p99", load, .p99, isDashed: true))
            ),
        ]
        charts = (kinds.isEmpty ? [] : requests) + (soak.map { [("soak", $0)] } ?? [])
    }

    private static func soak(_ section: JSONObject) -> Chart? {
        func numbers(_ name: String) -> [Double] {
            section.array(name)?.compactMap { $0.number.flatMap { Double($0.text) } } ?? []
        }
        let seconds = numbers("sampled_at_s")
        guard seconds.count > 1 else { return nil }
        func line(_ name: String, _ member: String, per unit: Double, _ hue: Int) -> Chart.Line {
            Chart.Line(name: name, points: zip(seconds, numbers(member)).map { ($0 / 60, $1 / unit) }, hue: hue)
        }
        return Chart(
            title: "A steady load: memory and tables", xTitle: "minutes", yTitle: "MiB", hasLogarithmicX: false,
            lines: [
                line("resident", "resident_kib", per: 1024, 0),
                line("sessions and grants", "table_octets", per: 1_048_576, 1),
            ])
    }

    private static func algorithms(_ figure: JSONObject) -> String {
        "\(figure.string("identity_provider") ?? "") to \(figure.string("broker") ?? "")"
    }

    private static func median(_ figure: JSONObject, _ metric: Metric) -> Double? {
        figure.object(metric.rawValue)?.number("median").flatMap { Double($0.text) }
    }
}
