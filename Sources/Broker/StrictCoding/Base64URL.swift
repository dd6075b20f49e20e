/// base64url without padding, RFC 4648 §5, as JOSE uses it (RFC 7515 §2).
///
/// Every octet string has exactly one accepted text: a foreign character, padding, whitespace, an impossible length or
/// a trailing bit that carries no data is refused. Two texts for one signature or one key would let a token slip past
/// anything that remembers tokens by their text.
public enum Base64URL {
    /// The text of `bytes`.
    @inlinable public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count / 3 + 1) * 4)
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text of `bytes`, all of it ASCII, to `text`.
    @inlinable public static func append(_ bytes: some Collection<UInt8>, to text: inout [UInt8]) {
        withSpan(of: bytes) { Alphabet.url.encode($0, padded: false, to: &text) }
    }

    /// The octets of `text`, or nil where `text` is not what ``encode(_:)`` would have written.
    @inlinable public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        withSpan(of: text) { Alphabet.url.decode($0) }
    }

    /// The octets of `text`, or nil where `text` is not what ``encode(_:)`` would have written.
    public static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }
}
