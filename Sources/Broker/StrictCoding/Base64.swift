/// base64 with padding, RFC 4648 §4, as HTTP Basic uses it (RFC 7617 §2). Canonical texts only.
public enum Base64 {
    /// The text of `bytes`, padded.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count / 3 + 1) * 4)
        withSpan(of: bytes) { Alphabet.standard.encode($0, padded: true, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The octets of `text`, or nil: wrong length, foreign character, padding missing or misplaced, stray trailing bits.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        withSpan(of: text) { text in
            guard text.count.isMultiple(of: 4) else { return nil }
            var end = text.count
            for _ in 0..<2 where end > 0 && text[end - 1] == UInt8(ascii: "=") { end -= 1 }
            return Alphabet.standard.decode(text.extracting(0..<end))
        }
    }

    /// The octets of `text`, or nil: wrong length, foreign character, padding missing or misplaced, stray trailing bits.
    public static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }
}
