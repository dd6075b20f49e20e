import StrictCoding

/// One thing that was measured, in several rounds.
struct Figure: Sendable {
    /// What was measured, as (name, value): strings and numbers.
    let labels: [(name: String, value: JSONValue)]
    private(set) var rounds: [[Metric: Double]] = []
    /// Added up over the rounds: `requests`, `unavailable`, `wrong_answers` and the like.
    private(set) var counts: [(name: String, value: Int64)] = []
    var firstWrongAnswer: String?

    init(_ labels: KeyValuePairs<String, JSONValue>) { self.labels = labels.map { ($0.key, $0.value) } }

    mutating func add(_ round: [Metric: Double]) { rounds.append(round) }

    mutating func count(_ name: String, _ value: Int) {
        if let index = counts.firstIndex(where: { $0.name == name }) {
            counts[index].value += Int64(value)
        } else {
            counts.append((name, Int64(value)))
        }
    }

    /// Counts the answers of a load.
    mutating func count(_ result: LoadResult) {
        count("requests", result.requests)
        count("unavailable", result.unavailable)
        count("wrong_answers", result.wrongAnswers)
        if firstWrongAnswer == nil { firstWrongAnswer = result.firstWrongAnswer }
    }

    /// Counts the wrong answers of a warm-up, too.
    mutating func adoptFailures(of warmUp: Figure) {
        for name in ["unavailable", "wrong_answers"] { count(name, Int(warmUp.count(name))) }
        if firstWrongAnswer == nil { firstWrongAnswer = warmUp.firstWrongAnswer }
    }

    func count(_ name: String) -> Int64 { counts.first { $0.name == name }?.value ?? 0 }

    /// `nil` where no round has it.
    func spread(_ metric: Metric) -> Spread? {
        let values = rounds.compactMap { $0[metric] }.filter(\.isFinite)
        return values.isEmpty ? nil : Spread(values)
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            for label in labels { json.member(label.name, label.value) }
            for metric in Metric.allCases {
                guard let spread = spread(metric) else { continue }
                json.member(
                    metric.rawValue,
                    object: { json in
                        json.decimal("median", spread.median)
                        json.decimal("min", spread.least)
                        json.decimal("max", spread.most)
                    })
            }
            for count in counts { json.member(count.name, count.value) }
            if let firstWrongAnswer { json.member("first_wrong_answer", firstWrongAnswer) }
        }
    }
}

extension JSONWriter {
    mutating func decimal(_ name: String, _ value: Double) { member(name, raw: value.rounded(to: 3).utf8) }
}

extension Double {
    /// Formats with a fixed number of decimals and no exponent. 0 for NaN, infinity, and 1e15 or more.
    func rounded(to digits: Int) -> String {
        guard isFinite, magnitude < 1e15 else { return "0" }
        var factor: Int64 = 1
        for _ in 0..<digits { factor *= 10 }
        guard let scaled = Int64(exactly: (magnitude * Double(factor)).rounded()) else { return "0" }
        let (whole, part) = scaled.quotientAndRemainder(dividingBy: factor)
        let sign = self < 0 && scaled != 0 ? "-" : ""
        guard digits > 0 else { return sign + String(whole) }
        let text = String(part)
        return "\(sign)\(whole).\(String(repeating: "0", count: digits - text.count))\(text)"
    }
}
