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
