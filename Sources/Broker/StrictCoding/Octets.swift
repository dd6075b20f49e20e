/// Comparison of secrets and of values derived from them.
public enum ConstantTime {
    /// Whether both hold the same octets, in a time that depends on their lengths alone.
    ///
    /// Lengths are not hidden: what is compared here (digests, tags, hashes in claims) has a length that everybody knows.
    @inlinable public static func equal(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        withSpan(of: a) { a in
            withSpan(of: b) { b in
                guard a.count == b.count else { return false }
                return isZero(difference(a, b))
            }
        }
    }

    // Not inlined, so that the optimiser cannot see in one place that only "zero or not" is asked and leave the loop
    // at the first difference.
    @usableFromInline @inline(never)
    static func difference(_ a: Span<UInt8>, _ b: Span<UInt8>) -> UInt8 {
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference
    }

    @usableFromInline @inline(never)
    static func isZero(_ value: UInt8) -> Bool { value == 0 }
}

extension String {
    /// Whether both texts are the same octets in UTF-8: the comparison that protocol values need.
    ///
    /// `==` on strings compares by Unicode canonical equivalence, under which different octets can be equal (RFC 8259 §8.3 and
    /// RFC 7519 §7.3 ask for code points). Not for secrets: see ``ConstantTime``.
    public func hasSameOctets(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }  // before anything of them is looked at
        let (a, b) = (utf8.span, other.utf8.span)
        for index in a.indices where a[index] != b[index] { return false }
        return true
    }
}

/// Lends the octets of any collection as a span; a collection that is not contiguous is copied once.
///
/// The generic entry points of this target are thin shells around code on spans, and inlinable: their caller knows the
/// collection, and without that each call looks generic types up at run time.
@inlinable func withSpan<Result>(of bytes: some Collection<UInt8>, _ body: (Span<UInt8>) -> Result) -> Result {
    if let result = bytes.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
    return body(Array(bytes).span)
}
