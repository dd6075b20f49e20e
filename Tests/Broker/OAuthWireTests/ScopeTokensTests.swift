import OAuthWire
import Testing

@Suite("Scope syntax, RFC 6749 §3.3")
struct ScopeTokensTests {
    @Test("Tokens keep their order, and duplicates collapse")
    func tokens() {
        #expect(ScopeTokens("openid orders.read openid")?.tokens == ["openid", "orders.read"])
        #expect(ScopeTokens("!#[]~:/a")?.tokens == ["!#[]~:/a"])
    }

    @Test(
        "Malformed scopes are refused",
        arguments: [
            "", " ", "a ", " a", "a  b", "a\tb", "a\"b", "a\\b", "é", "a\u{7F}", "a\r\nb", "a\u{A0}b",
            (0...64).map { "s\($0)" }.joined(separator: " "), String(repeating: "a", count: 4097),
        ])
    func refused(text: String) {
        #expect(ScopeTokens(text) == nil)
    }

    @Test("Scopes at the limits are accepted")
    func limits() {
        #expect(ScopeTokens((1...64).map { "s\($0)" }.joined(separator: " "))?.tokens.count == 64)
        #expect(ScopeTokens(String(repeating: "a", count: 4096))?.tokens.count == 1)
    }
}
