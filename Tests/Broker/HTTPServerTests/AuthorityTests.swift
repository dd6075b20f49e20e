import Testing

@testable import HTTPServer

/// RFC 3986 §3.2.2 and §3.2.3, as `Host` has them.
@Suite("Hosts with or without a port")
struct AuthorityTests {
    @Test(arguments: [
        "sso.example.com", "sso.example.com:443", "sso.example.com:", "sso.example.com:0", "localhost", "a_b", "a~b",
        "127.0.0.1:8080", "[::1]", "[2001:db8::7]:65535", "xn--bcher-kva.example", "a%2Db", "a!$&'()*+,;=b", "a.",
        "sso.example.com:00443",
    ])
    func hosts(_ text: String) { #expect(Authority.isValid(text)) }

    @Test(arguments: [
        "", ":", ":443", "a b", " a", "a ", "user@host", "user:word@host", "a/b", "a?b", "a#b", "[::1", "::1", "[]",
        "[::1]a", "[::1]:x", "[127.0.0.1]", "[fe80::1%25eth0]", "[v1.a]", "[[::1]]", "host:99999", "host:65536",
        "host:000443", "host:1a", "host:-1", "host:1:2", "a%", "a%2", "a%zz", "a\"b", "a\\b", "b\u{FC}cher.example",
        "a\0b", "a\tb",
    ])
    func others(_ text: String) { #expect(!Authority.isValid(text)) }

    @Test func length() {
        #expect(Authority.isValid(String(repeating: "a", count: 255)))
        #expect(!Authority.isValid(String(repeating: "a", count: 300)))
    }
}
