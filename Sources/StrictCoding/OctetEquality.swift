extension String {
    /// Whether both texts are the same octets in UTF-8: the comparison that protocol values need.
    ///
    /// `==` on strings compares by Unicode canonical equivalence, under which different octets can be equal (RFC 8259 §8.3 and
    /// RFC 7519 §7.3 ask for code points). Not for secrets: see ``ConstantTime``.
    public func hasSameOctets(as other: String) -> Bool {
        let (a, b) = (utf8.span, other.utf8.span)
        guard a.count == b.count else { return false }
        for index in a.indices where a[index] != b[index] { return false }
        return true
    }
}
