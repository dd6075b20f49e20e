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

    /// JSON text that is safe to look at: RFC 8259 §7 escapes for what ``JSONWriter`` may leave as it is. Outside strings
    /// JSON is ASCII, so that only the inside of strings can change.
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
