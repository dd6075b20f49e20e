import Glibc
import StrictCoding

/// Writes a command's result to standard output, for people or, with `--json`, for programs. Nothing else goes there.
struct CommandOutput: Sendable {
    enum Format: Sendable { case text, json }

    let format: Format

    func show(_ result: some CommandResult) throws(CommandFailure) {
        switch format {
        case .text:
            try StandardStream.output.write(Self.text(result.lines))
        case .json:
            try StandardStream.output.write(Self.json { result.write(to: &$0) })
        }
    }

    /// On standard error: what the operator should know, though the command goes on.
    func warn(_ lines: [String]) {
        try? StandardStream.error.write(Self.text(lines))
    }

    /// On standard error. What cannot be written there is lost: there is nowhere left to say so.
    func report(_ failure: CommandFailure) {
        if case .outputClosed = failure { return }
        switch format {
        case .text: try? StandardStream.error.write(Self.text(failure.lines))
        case .json: try? StandardStream.error.write(Self.json { failure.write(to: &$0) })
        }
    }

    private static func text(_ lines: [String]) -> [UInt8] {
        lines.flatMap { Array(TerminalText.escaped($0).utf8) + [UInt8(ascii: "\n")] }
    }

    private static func json(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        write(&json)
        return TerminalText.escaped(json: json.bytes) + [UInt8(ascii: "\n")]
    }
}

/// What a command found out or did, in both forms.
protocol CommandResult {
    /// For people. The caller escapes them for the terminal.
    var lines: [String] { get }
    /// For programs: one value. Names, once published, stay.
    func write(to json: inout JSONWriter)
}

extension JSONWriter {
    /// A member that is an array of objects.
    mutating func array<Thing>(_ name: String, of things: [Thing], _ members: (Thing, inout JSONWriter) -> Void) {
        member(name, array: { json in for thing in things { json.object { members(thing, &$0) } } })
    }
}

/// Standard output and standard error, unbuffered. The program ignores SIGPIPE, so a reader that goes away causes an
/// error here.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    func write(_ octets: [UInt8]) throws(CommandFailure) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw .outputClosed
            } else if errno != EINTR {
                throw .infrastructure("cannot write to standard \(self): \(String(cString: strerror(errno)))")
            }
        }
    }
}

/// Text from a database, a file or an argument on its way to a terminal, which would obey the control characters in it:
/// move the cursor, rewrite what stands above, turn the reading direction around (CWE-150).
enum TerminalText {
    /// On one line: controls, format characters and line ends become `\u{…}`.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// JSON text that is safe on a terminal: RFC 8259 §7 escapes for characters that ``JSONWriter`` may leave as they
    /// are. Outside strings JSON is ASCII, so only the contents of strings change.
    static func escaped(json octets: [UInt8]) -> [UInt8] {
        let text = String(decoding: octets, as: UTF8.self)
        guard text.unicodeScalars.contains(where: isUnsafe) else { return octets }
        var result: [UInt8] = []
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                for unit in Character(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
                }
            } else {
                result.append(contentsOf: String(scalar).utf8)
            }
        }
        return result
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: false
        }
    }
}
