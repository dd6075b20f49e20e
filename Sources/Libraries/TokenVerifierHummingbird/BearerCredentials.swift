/// What an `Authorization` field holds, RFC 6750 §2.1 and RFC 9110 §11.4.
enum BearerCredentials: Equatable {
    case token(String)
    /// `Bearer`, and then not exactly one token.
    case malformed
    /// Another scheme, or nothing: as good as no credentials.
    case otherScheme

    init(_ field: String) {
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard let scheme = parts.first, scheme.utf8.count == 6, scheme.lowercased() == "bearer" else {
            self = .otherScheme
            return
        }
        guard parts.count == 2, parts[1].utf8.allSatisfy(Self.isTokenCharacter) else {
            self = .malformed
            return
        }
        self = .token(String(parts[1]))
    }

    /// `b64token`, RFC 6750 §2.1.
    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
