import Foundation

/// What a transcript shows instead of values that differ from run to run. The same value gets the same placeholder, such
/// as `<session-1>`, and a later command may use the placeholder.
struct TranscriptNames {
    /// Addresses and paths of this run, and what stands for each.
    private let places: [(real: String, shown: String)]
    private var placeholders: [String: String] = [:]
    private var counts: [String: Int] = [:]

    init(_ places: [(real: String, shown: String)]) { self.places = places }

    /// A typed line, with the values of this run.
    func real(_ text: String) -> String {
        Self.replace(places.map { ($0.shown, $0.real) } + placeholders.map { ($0.value, $0.key) }, in: text)
    }

    /// Output, as the transcript has it.
    mutating func shown(_ output: [String]) -> [String] {
        var result: [String] = []
        var rest = output[...]
        while let line = rest.popFirst() {
            guard let starts = Self.columns(line) else {
                result.append(shown(line, column: nil))
                continue
            }
            let titles = Self.cells(of: line, starts)
            var rows = [titles]
            while let row = rest.first, Self.isRow(row, starts) {
                rows.append(zip(Self.cells(of: row, starts), titles).map { shown($0, column: $1) })
                rest = rest.dropFirst()
            }
            result += Self.laidOut(rows)
        }
        return result
    }

    // MARK: Values

    private mutating func shown(_ line: String, column: String?) -> String {
        let text = Self.replace(places.map { ($0.real, $0.shown) }, in: line)
            .replacing(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/, with: "<time>")
            .replacing(/(\d+\.)?\d{16}\.\d+\.\d+\.\d+/, with: "<position>")
            .replacing(/PostgreSQL \d.*/, with: "PostgreSQL <version>")
        var result = ""
        var end = text.startIndex
        for match in text.matches(of: /[A-Za-z0-9_-]+/) {
            let token = String(text[match.range])
            let before = text[..<match.range.lowerBound].suffix(80)
            result += text[end..<match.range.lowerBound]
            result += placeholder(for: token, after: before, column) ?? token
            end = match.range.upperBound
        }
        return result + text[end...]
    }

    private mutating func placeholder(for token: String, after before: Substring, _ column: String?) -> String? {
        if let known = placeholders[token] { return known }
        if token == NSUserName() { return before.hasSuffix("/") ? nil : "operator" }
        let label = Self.label(before, column)
        guard let kind = Self.kind(of: token, after: before, label) else { return nil }
        counts[kind, default: 0] += 1
        placeholders[token] = "<\(kind)-\(counts[kind] ?? 0)>"
        return placeholders[token]
    }

    /// The name of a value: the title of its column, the member of an object, or the words before a colon.
    private static func label(_ before: Substring, _ column: String?) -> String {
        let found =
            column ?? before.firstMatch(of: /"([a-z_0-9]+)": ?"?$/).map { String($0.1) }
            ?? before.wholeMatch(of: /\s*([a-z][a-z0-9 ]*):\s+/).map { String($0.1) }
        return (found ?? "").lowercased().replacing("_", with: " ")
    }

    /// Such as `session`; `nil`: the value does not differ from run to run.
    private static func kind(of token: String, after before: Substring, _ label: String) -> String? {
        let isHexadecimal = token.allSatisfy { $0.isHexDigit && !$0.isUppercase }
        let fallback: String
        switch token.utf8.count {
        case 36 where token.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil: fallback = "id"
        case 64 where isHexadecimal: fallback = "digest"
        // 256 bits in base64url.
        case 43 where token.contains(where: \.isUppercase) && token.contains(where: \.isLowercase): fallback = "value"
        case 8 where isHexadecimal && label == "digest": fallback = "digest"
        // A system identifier of PostgreSQL.
        case 18...20 where token.allSatisfy(\.isNumber): fallback = "number"
        default: return nil
        }
        let kinds = ["session", "request", "grant", "device", "secret", "kid", "sid"]
        if let kind = kinds.first(where: { label.contains($0) }) { return kind }
        if label == "thumbprint" { return "kid" }
        let words = [
            "explain": "request", "id": "request", "resume": "request", "device": "device", "session": "session",
            "sid": "session", "grant": "grant", "key": "kid",
        ]
        return before.split { !$0.isLetter }.last.flatMap { words[$0.lowercased()] } ?? fallback
    }

    /// Replaces each place once, the longest text first.
    private static func replace(_ pairs: [(old: String, new: String)], in text: String) -> String {
        let pairs = pairs.sorted { $0.old.utf8.count > $1.old.utf8.count }
        var text = text
        for (index, pair) in pairs.enumerated() where text.contains(pair.old) {
            text = text.replacing(pair.old, with: "\u{1}\(index)\u{2}")
        }
        for (index, pair) in pairs.enumerated() { text = text.replacing("\u{1}\(index)\u{2}", with: pair.new) }
        return text
    }

    // MARK: Tables

    /// Where the columns of a table begin; `nil`: the line has no titles.
    private static func columns(_ line: String) -> [Int]? {
        guard line.wholeMatch(of: /[A-Z][A-Z0-9 ]*/) != nil, line.contains("  ") else { return nil }
        return line.matches(of: /\S+( \S+)*/).map { line.distance(from: line.startIndex, to: $0.range.lowerBound) }
    }

    private static func isRow(_ line: String, _ starts: [Int]) -> Bool {
        let characters = Array(line)
        return !line.isEmpty
            && starts.dropFirst().allSatisfy { start in
                characters.count <= start || characters[start - 1] == " " && characters[start - 2] == " "
            }
    }

    private static func cells(of line: String, _ starts: [Int]) -> [String] {
        let characters = Array(line)
        return starts.indices.map { index in
            let start = min(starts[index], characters.count)
            let end = index + 1 < starts.count ? min(starts[index + 1], characters.count) : characters.count
            return String(characters[start..<end]).trimmingCharacters(in: .whitespaces)
        }
    }

    /// The widths are those of the placeholders.
    private static func laidOut(_ rows: [[String]]) -> [String] {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(line.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
    }
}
