import StrictCoding
import Testing

@Suite struct OctetEqualityTests {
    @Test(arguments: [
        ("", ""), ("sso", "sso"), ("a text of more than fifteen octets", "a text of more than fifteen octets"),
        ("é", "é"),
    ])
    func same(a: String, b: String) {
        #expect(a.hasSameOctets(as: b))
    }

    /// Pairs that Swift treats as equal, or that differ in one octet.
    @Test(arguments: [
        ("\u{E9}", "e\u{301}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"), ("\u{212A}", "K"), ("a", "b"), ("a", "a\u{0}"),
        ("", " "),
        ("a text of more than fifteen octets", "a text of more than fifteen octetS"), ("\r\n", "\n"),
    ])
    func different(a: String, b: String) {
        #expect(!a.hasSameOctets(as: b))
        #expect(!b.hasSameOctets(as: a))
    }
}
