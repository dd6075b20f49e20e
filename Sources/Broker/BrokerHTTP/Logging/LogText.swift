/// Text in a log line: ASCII only, whatever it was. No control character, no line or paragraph separator and no
/// direction override can forge a second line or hide part of one.
enum LogText {
    /// A JSON string, quotes included. RFC 8259 §7.
    static func appendJSON(_ text: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        appendEscaped(text, to: &line)
        line.append(UInt8(ascii: "\""))
    }

    /// The inside of a JSON string.
    static func appendEscaped(_ text: String, to line: inout [UInt8]) {
        if text.utf8.allSatisfy(isPlain) {
            line.append(contentsOf: text.utf8)
        } else {
            for unit in text.utf16 {
                if unit < 0x80, isPlain(UInt8(unit)) {
                    line.append(UInt8(unit))
                } else {
                    appendEscape(unit, to: &line)
                }
            }
        }
    }

    /// Bare where nothing in it could mislead a reader, else quoted as in JSON.
    static func appendText(_ text: String, to line: inout [UInt8]) {
        if !text.isEmpty, text.utf8.allSatisfy({ isPlain($0) && $0 != UInt8(ascii: " ") }) {
            line.append(contentsOf: text.utf8)
        } else {
            appendJSON(text, to: &line)
        }
    }

    private static func isPlain(_ octet: UInt8) -> Bool {
        (0x20...0x7E).contains(octet) && octet != UInt8(ascii: "\"") && octet != UInt8(ascii: "\\")
    }

    private static func appendEscape(_ unit: UInt16, to line: inout [UInt8]) {
        line.append(contentsOf: "\\u".utf8)
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(unit >> shift & 0xF)
            line.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + (digit - 10))
        }
    }
}
