import JOSE
import Testing

@Suite struct TargetURITests {
    @Test(
        "Spellings of one URI are equal",
        arguments: [
            ("https://sso.example.com/token", "https://sso.example.com/token"),
            ("HTTPS://SSO.Example.COM/token", "https://sso.example.com/token"),
            ("https://sso.example.com:443/token", "https://sso.example.com/token"),
            ("https://sso.example.com:/token", "https://sso.example.com/token"),
            ("http://localhost:80/token", "http://localhost/token"),
            ("https://sso.example.com/token?a=b", "https://sso.example.com/token"),
            ("https://sso.example.com/token#f", "https://sso.example.com/token"),
            ("https://sso.example.com/token?a=b#c?d", "https://sso.example.com/token"),
            ("https://sso.example.com/a/./../b/%74oken", "https://sso.example.com/b/token"),
            ("https://sso.example.com/../token", "https://sso.example.com/token"),
            ("https://sso.example.com/a%2fb", "https://sso.example.com/a%2Fb"),
            ("https://sso.example.com", "https://sso.example.com/"),
            ("https://sso.example.com?x", "https://sso.example.com/"),
            ("https://sso.example.com/a/.", "https://sso.example.com/a/"),
            ("https://sso.example.com/a/b/..", "https://sso.example.com/a/"),
            ("https://[2001:DB8::1]:443/token", "https://[2001:db8::1]/token"),
            ("https://[::1]:8443/token", "https://[::1]:8443/token"),
        ])
    func equal(written: String, plain: String) throws {
        let target = try #require(TargetURI(written))
        #expect(target == TargetURI(plain))
        #expect(TargetURI(written)?.description == plain)
    }

    @Test(
        "Different URIs are not equal",
        arguments: [
            "https://sso.example.com/Token", "https://sso.example.com/token/", "https://sso.example.com//token",
            "http://sso.example.com/token", "https://sso.example.com:8443/token", "https://sso.example.com./token",
            "https://idp.example.com/token", "https://sso.example.com:80/token", "https://sso.example.com/",
            "https://sso.example.com/token%2F", "https://sso.example.com:0443/token",
        ])
    func different(other: String) throws {
        let target = try #require(TargetURI(other))
        #expect(target != TargetURI("https://sso.example.com/token"))
    }

    @Test(
        "Texts that are not a URI are refused",
        arguments: [
            "", "token", "/token", "//sso.example.com/token", "ftp://sso.example.com/token", "https:sso.example.com",
            "https:///token", "https://", "https://user@sso.example.com/token", "https://sso.example.com/%zz",
            "https://sso.example.com/%7", "https://sso.example.com:x/token", "https://sso.example.com/to ken",
            "https://sso.example.com/t\u{F6}ken", "https://:443/token", "https?://a",
        ])
    func none(text: String) {
        #expect(TargetURI(text) == nil)
    }

    @Test func aLongOneIsNone() {
        let path = String(repeating: "a", count: 2048 - "https://a/".utf8.count)
        #expect(TargetURI("https://a/" + path) != nil)
        #expect(TargetURI("https://a/a" + path) == nil)
    }
}
