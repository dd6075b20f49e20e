import FoundationEssentials
import NativeSSO
import StrictCoding

/// One value of a ``Table`` or ``Record``.
enum Cell: Sendable, Hashable {
    case text(String)
    case list([String])
    case number(Int64)
    case flag(Bool)
    /// RFC 3339, in UTC, in both forms.
    case instant(UnixTime)
    case none

    init(_ text: String?) { self = text.map(Cell.text) ?? .none }
    init(_ instant: UnixTime?) { self = instant.map(Cell.instant) ?? .none }
    init(_ scope: Scope?) { self = scope.map { .list($0.tokens) } ?? .none }
    /// As it is written in the configuration.
    init(_ span: Seconds?) { self = span.map { .text(DurationText.format($0)) } ?? .none }

    /// On one line, safe for a terminal.
    var shown: String {
        switch self {
        case .text(let text): TerminalText.escaped(text)
        case .list(let texts): texts.isEmpty ? "-" : texts.map(TerminalText.escaped).joined(separator: " ")
        case .number(let number): String(number)
        case .flag(let flag): flag ? "yes" : "no"
        case .instant(let instant): instant.rfc3339
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
    /// In UTC. Held to the years 1 to 9999: a row of the database must not stop a listing.
    var rfc3339: String {
        let seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
