/// The value of `scope`: tokens separated by single spaces, duplicates collapsed. RFC 6749 §3.3.
public struct ScopeTokens: Sendable, Hashable {
    /// In the order in which they were first named; never empty.
    public let tokens: [String]

    /// Octets of the whole value.
    public static let maximumLength = 4096
    /// More than any client is registered for; bounds the comparison of each with each.
    public static let maximumCount = 64

    /// `nil` for a leading, trailing or double space, a character outside %x21 / %x23-5B / %x5D-7E, or too much of it.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, text.utf8.allSatisfy(Self.isScopeCharacter) else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count <= Self.maximumCount, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        var tokens: [String] = []
        for part in parts {
            let token = String(Substring(part))
            if !tokens.contains(token) { tokens.append(token) }  // ASCII: `==` is equality of octets
        }
        self.tokens = tokens
    }

    private static func isScopeCharacter(_ octet: UInt8) -> Bool {
        (0x20...0x7E).contains(octet) && octet != UInt8(ascii: "\"") && octet != UInt8(ascii: "\\")
    }
}
