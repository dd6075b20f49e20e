extension UInt8 {
    /// Whether this is an unreserved character of RFC 3986 §2.3: `[A-Z] / [a-z] / [0-9] / "-" / "." / "_" / "~"`. A
    /// code verifier uses the same set (RFC 7636 §4.1).
    @inlinable public var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
