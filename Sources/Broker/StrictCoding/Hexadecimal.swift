/// Base 16, RFC 4648 §8. Writes lower case; reads both cases.
public enum Hexadecimal {
    /// Two lower-case digits for each octet.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The octets of `text`; nil for an odd length or a character that is not a hexadecimal digit.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for character in text {
            guard let value = value(character) else { return nil }
            if let first = high.take() {
                bytes.append(first << 4 | value)
            } else {
                high = value
            }
        }
        return bytes
    }

    /// The octets of `text`; nil for an odd length or a character that is not a hexadecimal digit.
    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// The lower-case digit of a value under 16.
    @inlinable package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10)
    }

    package static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
