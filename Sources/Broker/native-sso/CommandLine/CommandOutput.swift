import Glibc
import StrictCoding

/// Writes a command's result to standard output: for people or, with `--json`, for programs. Nothing else goes there.
struct CommandOutput: Sendable {
    enum Format: Sendable { case text, json }

    let format: Format
    var isUTC = true

    func show(_ result: some CommandResult) throws(CommandFailure) {
        switch format {
        case .text:
            let presentation = Presentation(width: StandardStream.output.width, isUTC: isUTC)
            try StandardStream.output.write(
                Self.text(Presentation.$current.withValue(presentation) { result.lines }))
        case .json:
            try StandardStream.output.write(Self.json { result.write(to: &$0) })
        }
    }

    /// Warns the operator on standard error. The command goes on.
    func warn(_ lines: [String]) {
        try? StandardStream.error.write(Self.text(lines))
    }

    /// Reports a failure on standard error. If that write fails, the report is lost.
    /// - Parameter hint: Where to read more about a mistake on the command line.
    func report(_ failure: CommandFailure, hint: String? = nil) {
        if case .outputClosed = failure { return }
        var lines = failure.lines
        if case .usage = failure, let hint { lines.append(hint) }
        switch format {
        case .text: try? StandardStream.error.write(Self.text(lines))
        case .json: try? StandardStream.error.write(Self.json { failure.write(to: &$0) })
        }
    }

    private static func text(_ lines: [String]) -> [UInt8] {
        lines.flatMap { Array(TerminalText.escaped($0).utf8) + [UInt8(ascii: "\n")] }
    }

    /// One line of JSON.
    static func json(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        write(&json)
        return TerminalText.escaped(json: json.bytes) + [UInt8(ascii: "\n")]
    }
}

/// The result of a command, in both forms.
protocol CommandResult {
    /// For people. ``CommandOutput`` escapes them for the terminal.
    var lines: [String] { get }
    /// For programs: one value. Published names stay.
    func write(to json: inout JSONWriter)
}

/// A result that is one JSON object.
protocol ObjectResult: CommandResult {
    /// Writes the members, without the braces.
    func members(to json: inout JSONWriter)
}

extension ObjectResult {
    func write(to json: inout JSONWriter) { json.object { members(to: &$0) } }
}

/// A result that is JSON already, also for people.
struct JSONDocument: CommandResult {
    let octets: [UInt8]

    var lines: [String] { [String(decoding: octets, as: UTF8.self)] }

    func write(to json: inout JSONWriter) { json.value(raw: octets) }
}

extension JSONWriter {
    /// A member that is an array of objects.
    mutating func array<Thing>(_ name: String, of things: [Thing], _ members: (Thing, inout JSONWriter) -> Void) {
        member(name, array: { json in for thing in things { json.object { members(thing, &$0) } } })
    }
}

/// Standard output and standard error, unbuffered. The program ignores SIGPIPE, so a closed pipe is an error here.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    func write(_ octets: [UInt8]) throws(CommandFailure) {
        guard !rawValue.write(all: octets) else { return }
        if errno == EPIPE { throw .outputClosed }
        throw .infrastructure("cannot write to standard \(self): \(String(cString: strerror(errno)))")
    }

    /// Whether the reader of a pipe or socket has gone away.
    var isClosed: Bool {
        var file = pollfd(fd: rawValue, events: 0, revents: 0)
        return poll(&file, 1, 0) > 0 && Int32(file.revents) & (POLLERR | POLLHUP) != 0
    }
}

extension CInt {
    /// Writes all octets to this file. `false`: `errno` says why not.
    func write(all octets: [UInt8]) -> Bool {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(self, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return false }
        }
        return true
    }
}

/// Escapes text from a database, a file or an argument for a terminal. A terminal obeys control characters: they move
/// the cursor, overwrite earlier lines or reverse the reading direction (CWE-150).
enum TerminalText {
    /// On one line: controls, format characters and line ends become `\u{…}`.
    static func escaped(_ text: String) -> String { escaped(text) { "\\u{\(String($0.value, radix: 16))}" } }

    /// JSON text that is safe to look at. Uses the escapes of RFC 8259 §7 where ``JSONWriter`` writes a character as it is.
    /// JSON is ASCII outside strings, so only strings can change.
    static func escaped(json octets: [UInt8]) -> [UInt8] {
        let text = escaped(String(decoding: octets, as: UTF8.self)) { scalar in
            Character(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
            }.joined()
        }
        return Array(text.utf8)
    }

    private static func escaped(_ text: String, by escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: false
        }
    }
}
