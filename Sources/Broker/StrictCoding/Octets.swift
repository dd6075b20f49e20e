/// Comparison of secrets and of values derived from them.
public enum ConstantTime {
    /// Whether both hold the same octets. The time depends only on their lengths.
    ///
    /// Lengths are not secret: callers compare digests, tags and hash claims, all of known length.
    @inlinable public static func equal(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        withSpan(of: a) { a in
            withSpan(of: b) { b in
                guard a.count == b.count else { return false }
                return isZero(difference(a, b))
            }
        }
    }

    // Not inlined: otherwise the optimiser could see that only "zero or not" matters and leave the loop at the first
    // difference.
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
    /// Whether both texts have the same UTF-8 octets. Use this for protocol values.
    ///
    /// `==` on strings compares by Unicode canonical equivalence, so different octets can be equal. RFC 8259 §8.3 and
    /// RFC 7519 §7.3 require code points. Not for secrets: see ``ConstantTime``.
    public func hasSameOctets(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }  // before comparing any octet
        return withSpan(of: utf8) { a in withSpan(of: other.utf8) { b in areSame(a, b) } }
    }
}

/// A secret, or a value that holds one: it prints as `****`, also in `dump` and in the text of another value.
public protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension String {
    /// nil unless the octets are valid UTF-8. Swift's own initializer with checks would need iOS 18.
    package init?(validUTF8 octets: Span<UInt8>) {
        // It repairs octets that are not valid UTF-8. Then the text differs from them.
        let text = octets.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        guard withSpan(of: text.utf8, { areSame($0, octets) }) else { return nil }
        self = text
    }
}

private func areSame(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    for index in a.indices where a[index] != b[index] { return false }
    return true
}

/// Passes the octets of a collection as a span; copies a collection that is not contiguous once.
///
/// The generic entry points of this target are inlinable wrappers around code on spans. Without inlining, each call
/// looks up generic types at run time. `span` of arrays and strings would need iOS 26.
@inlinable func withSpan<Result>(of bytes: some Collection<UInt8>, _ body: (Span<UInt8>) -> Result) -> Result {
    if let result = bytes.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
    return Array(bytes).withUnsafeBufferPointer { body($0.span) }
}
