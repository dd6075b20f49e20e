import StrictCoding

/// The figures of one subcommand.
struct Section: Sendable {
    /// The subcommand's name.
    let name: String
    /// What holds for all its figures.
    var facts: [(name: String, value: JSONValue)]
    var figures: [Figure]

    init(_ name: String, facts: [(name: String, value: JSONValue)] = [], figures: [Figure] = []) {
        self.name = name
        self.facts = facts
        self.figures = figures
    }

    var wrongAnswers: Int64 { figures.reduce(0) { $0 + $1.count("wrong_answers") } }

    func write(to json: inout JSONWriter) {
        json.member(
            name,
            object: { json in
                for fact in facts { json.member(fact.name, fact.value) }
                json.member("figures", array: { json in for figure in figures { figure.write(to: &json) } })
            })
    }

    /// For people: the medians, a line for each figure.
    var table: String {
        let metrics = Metric.allCases.filter { metric in figures.contains { $0.spread(metric) != nil } }
        let labels = figures.first?.labels.map(\.name) ?? []
        let failures = ["unavailable", "wrong_answers"].filter { name in figures.contains { $0.count(name) > 0 } }
        let head = labels + metrics.map(\.rawValue) + failures
        let rows = figures.map { figure in
            labels.map { name in figure.labels.first { $0.name == name }.map { Self.text($0.value) } ?? "" }
                + metrics.map { figure.spread($0).map { $0.median.rounded(to: $0.median < 100 ? 2 : 0) } ?? "" }
                + failures.map { String(figure.count($0)) }
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([head] + rows).map { row in
            zip(row, widths).map { String(repeating: " ", count: $1 - $0.count) + $0 }.joined(separator: "  ")
        }
        return "\n\(name)\n" + lines.joined(separator: "\n") + "\n"
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let number): number.text
        case .bool(let flag): String(flag)
        case .null, .array, .object: ""
        }
    }
}

extension JSONValue {
    static func integer(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(Int64(clamping: value))) }
}
