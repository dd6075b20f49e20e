import FoundationEssentials
import NativeSSO
import StrictCoding

/// One thing: `name: value` lines for people, an object for programs.
struct Record: ObjectResult, ExpressibleByDictionaryLiteral {
    /// Names as JSON has them, such as `client_id`.
    let fields: [(name: String, value: Cell)]

    init(dictionaryLiteral fields: (String, Cell)...) { self.fields = fields.map { ($0, $1) } }

    var lines: [String] {
        let width = fields.map(\.name.utf8.count).max() ?? 0
        return fields.map { field in
            let padding = String(repeating: " ", count: width - field.name.utf8.count)
            return "\(field.name.replacing("_", with: " ")):\(padding) \(field.value.shown)"
        }
    }

    func members(to json: inout JSONWriter) {
        for field in fields { field.value.write(as: field.name, to: &json) }
    }
}

/// Many things of one kind: columns for people, an array of objects for programs.
struct Table: ObjectResult {
    /// The name of the only member of the JSON object, such as `sessions`.
    let name: String
    /// All have the same names, which are the columns. People see them in capitals.
    let rows: [Record]
    /// What people read if there is no row.
    let whenEmpty: String

    init<Thing>(_ name: String, _ things: [Thing], whenEmpty: String? = nil, row: (Thing) -> Record) {
        self.name = name
        rows = things.map(row)
        self.whenEmpty = whenEmpty ?? "no \(name.replacing("_", with: " "))"
    }

    var lines: [String] {
        guard let first = rows.first else { return [whenEmpty] }
        let titles = first.fields.map { $0.name.uppercased().replacing("_", with: " ") }
        let texts = [titles] + rows.map { $0.fields.map(\.value.shown) }
        let widths = titles.indices.map { column in texts.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        // A broken line is hard to read: a row that does not fit is shown like one thing.
        if let width = Presentation.current.width, widths.reduce(2 * (widths.count - 1), +) > width {
            return Array(rows.map(\.lines).joined(separator: [""]))
        }
        return texts.map { row in
            let padded = zip(row, widths).map { text, width in
                text + String(repeating: " ", count: width - text.unicodeScalars.count)
            }
            return String(padded.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
    }

    func members(to json: inout JSONWriter) {
        json.member(name, array: { json in for row in rows { row.write(to: &json) } })
    }
}

/// One page of a listing.
struct Page: ObjectResult {
    let table: Table
    /// For `--after`; `nil`: this is the last page.
    let next: String?

    var lines: [String] { table.lines + (next.map { ["There may be more: --after \($0)"] } ?? []) }

    func members(to json: inout JSONWriter) {
        table.members(to: &json)
        Cell(next).write(as: "next", to: &json)
    }
}

/// One value of a ``Table`` or ``Record``.
enum Cell: Sendable, Hashable {
    case text(String)
    case list([String])
    case number(Int64)
    case flag(Bool)
    /// RFC 3339: in UTC for programs, in local time for people.
    case instant(UnixTime)
    case none

    init(_ text: String?) { self = text.map(Cell.text) ?? .none }
    init(_ instant: UnixTime?) { self = instant.map(Cell.instant) ?? .none }
    init(_ origins: [WebOrigin]) { self = origins.isEmpty ? .none : .list(origins.map(\.string)) }
    init(_ scope: Scope?) { self = scope.map { .list($0.tokens) } ?? .none }
    /// As it is written in the configuration.
    init(_ span: Seconds?) { self = span.map { .text(DurationText.format($0)) } ?? .none }

    /// On one line, safe for a terminal.
    var shown: String {
        switch self {
        case .text(let text): text.isEmpty ? "-" : TerminalText.escaped(text)
        case .list(let texts): texts.isEmpty ? "-" : texts.map(TerminalText.escaped).joined(separator: " ")
        case .number(let number): String(number)
        case .flag(let flag): flag ? "yes" : "no"
        case .instant(let instant): instant.shown(.current)
        case .none: "-"
        }
    }

    func write(as name: String, to json: inout JSONWriter) {
        switch self {
        case .text(let text): json.member(name, text)
        case .list(let texts): json.member(name, texts)
        case .number(let number): json.member(name, number)
        case .flag(let flag): json.member(name, flag)
        case .instant(let instant): json.member(name, instant.rfc3339)
        case .none: json.member(name, .null)
        }
    }
}

extension UnixTime {
    /// In UTC. Clamped to the years 1 to 9999: a row of the database must not stop a listing.
    var rfc3339: String {
        let seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
