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
