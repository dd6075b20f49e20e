/// base64 with padding, RFC 4648 §4, as HTTP Basic uses it (RFC 7617 §2). Canonical texts only.
public enum Base64 {
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count / 3 + 1) * 4)
        withSpan(of: bytes) { Alphabet.standard.encode($0, padded: true, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The octets of `text`. Nil for a wrong length, a foreign character, missing or misplaced padding, or nonzero
    /// trailing bits.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        withSpan(of: text) { text in
            guard text.count.isMultiple(of: 4) else { return nil }
            var end = text.count
            for _ in 0..<2 where end > 0 && text[end - 1] == UInt8(ascii: "=") { end -= 1 }
            return Alphabet.standard.decode(text.extracting(0..<end))
        }
    }

    /// The octets of `text`; nil unless it is canonical.
    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }
}

/// base64url without padding, RFC 4648 §5, as JOSE uses it (RFC 7515 §2).
///
/// Every octet string has exactly one accepted text: `decode` refuses foreign characters, padding, whitespace,
/// impossible lengths and nonzero trailing bits. If one signature or key had two texts, a token could evade a replay
/// check by text.
public enum Base64URL {
    @inlinable public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count / 3 + 1) * 4)
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the ASCII text of `bytes` to `text`.
    @inlinable public static func append(_ bytes: some Collection<UInt8>, to text: inout [UInt8]) {
        withSpan(of: bytes) { Alphabet.url.encode($0, padded: false, to: &text) }
    }

    /// The octets of `text`; nil unless ``encode(_:)`` would write the same text.
    @inlinable public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        withSpan(of: text) { Alphabet.url.decode($0) }
    }

    /// The octets of `text`; nil unless ``encode(_:)`` would write the same text.
    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }
}

/// One of the two 64-character alphabets of RFC 4648, and the coding that both share.
@usableFromInline struct Alphabet: Sendable {
    static let standard = Alphabet(last: (UInt8(ascii: "+"), UInt8(ascii: "/")))
    @usableFromInline static let url = Alphabet(last: (UInt8(ascii: "-"), UInt8(ascii: "_")))

    private let characters: [UInt8]
    /// By character: its six bits, or `foreign`.
    private let values: [UInt8]
    private static let foreign: UInt8 = 0xFF

    private init(last: (UInt8, UInt8)) {
        let ranges = [
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
        ]
        characters = ranges.flatMap { Array($0) } + [last.0, last.1]
        var values = [UInt8](repeating: Self.foreign, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    @usableFromInline func encode(_ bytes: Span<UInt8>, padded: Bool, to text: inout [UInt8]) {
        let rest = bytes.count % 3
        var position = text.count
        let count = bytes.count / 3 * 4 + (rest == 0 ? 0 : padded ? 4 : rest + 1)
        text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: count))
        text.withUnsafeMutableBufferPointer { text in
            var output = text.mutableSpan
            var index = 0
            while index + 3 <= bytes.count {
                let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                output[position] = character(group >> 18)
                output[position + 1] = character(group >> 12)
                output[position + 2] = character(group >> 6)
                output[position + 3] = character(group)
                index += 3
                position += 4
            }
            guard rest > 0 else { return }
            let group = UInt32(bytes[index]) << 16 | (rest == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
            output[position] = character(group >> 18)
            output[position + 1] = character(group >> 12)
            if rest == 2 { output[position + 2] = character(group >> 6) }
        }
    }

    /// Decodes text without padding; nil unless it is canonical.
    @usableFromInline func decode(_ text: Span<UInt8>) -> [UInt8]? {
        let rest = text.count & 3
        guard rest != 1 else { return nil }
        let whole = text.count - rest
        var bytes = [UInt8](repeating: 0, count: whole / 4 * 3 + max(rest - 1, 0))
        let isCanonical = bytes.withUnsafeMutableBufferPointer { bytes in
            var output = bytes.mutableSpan
            var (index, position) = (0, 0)
            while index < whole {
                let (a, b, c, d) = (
                    value(text[index]), value(text[index + 1]), value(text[index + 2]), value(text[index + 3])
                )
                guard a | b | c | d < 64 else { return false }
                output[position] = a << 2 | b >> 4
                output[position + 1] = b << 4 | c >> 2
                output[position + 2] = c << 6 | d
                index += 4
                position += 3
            }
            guard rest > 0 else { return true }
            let (a, b) = (value(text[index]), value(text[index + 1]))
            guard a | b < 64 else { return false }
            output[position] = a << 2 | b >> 4
            guard rest == 3 else { return b & 0x0F == 0 }
            let c = value(text[index + 2])
            guard c < 64, c & 0x03 == 0 else { return false }
            output[position + 1] = b << 4 | c >> 2
            return true
        }
        return isCanonical ? bytes : nil
    }

    private func character(_ sixBits: UInt32) -> UInt8 { characters[Int(sixBits & 63)] }
    private func value(_ character: UInt8) -> UInt8 { values[Int(character)] }
}
