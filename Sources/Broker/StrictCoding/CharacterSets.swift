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

extension Span<UInt8> {
    /// Whether all octets are printable ASCII (%x20-7E) and none is one of these two.
    ///
    /// The loop has no early exit (no `||`), and callers inline it with constants, so the compiler vectorizes it: tokens
    /// are long. Public for that: what has `package` access is not inlined into another target.
    @inlinable @inline(__always)
    public func isPrintableASCII(except first: UInt8 = 0, _ second: UInt8 = 0) -> Bool {
        var others: UInt8 = 0
        for index in indices {
            let octet = self[index]
            others |=
                (octet < 0x20 ? 1 : 0) | (octet > 0x7E ? 1 : 0) | (octet == first ? 1 : 0) | (octet == second ? 1 : 0)
        }
        return others == 0
    }
}

extension String {
    /// The same for a string.
    @inlinable @inline(__always)
    public func isPrintableASCII(except first: UInt8 = 0, _ second: UInt8 = 0) -> Bool {
        withSpan(of: utf8) { $0.isPrintableASCII(except: first, second) }
    }
}

extension [UInt8] {
    /// Appends a text that is printable ASCII without these two octets, and nothing of any other. Returns whether it did.
    @inlinable @inline(__always)
    public mutating func append(plain text: String, except first: UInt8, _ second: UInt8) -> Bool {
        withSpan(of: text.utf8) { octets in
            guard octets.isPrintableASCII(except: first, second) else { return false }
            octets.withUnsafeBufferPointer { append(contentsOf: $0) }
            return true
        }
    }
}
