import HTTPServer
import Testing

@testable import native_sso

/// The section `backchannel`.
struct BackchannelReadingTests {
    private static func read(_ text: String, _ variables: [String: String] = [:]) throws -> Configuration.Backchannel? {
        try SampleFile.read(SampleFile.adding(text), variables).backchannel
    }

    @Test func thereIsNoneByDefault() throws {
        let configuration = try SampleFile.read(SampleFile.minimal)
        #expect(configuration.backchannel == nil)
        #expect(configuration.listeners.count == 1)
    }

    @Test func eachPathHasItsSwitch() throws {
        let one = try #require(try Self.read("backchannel: { revoke: true }"))
        #expect(one.revokes && !one.introspects && !one.takesLogouts)
        #expect(try Self.read("backchannel: { introspect: true }")?.introspects == true)
        #expect(one.listener.listen.description == "127.0.0.1:8082")
        #expect(one.url == "https://sso.example.com")
        let other = try #require(
            try Self.read(
                """
                backchannel:
                  listen: "unix:/run/native-sso/backchannel"
                  trusted_proxies: [unix]
                  backchannel_logout: true
                  url: https://apps.example.com/sso
                """))
        #expect(!other.revokes && other.takesLogouts)
        #expect(other.listener.trustedProxies.includesUnixSocket)
        #expect(other.url == "https://apps.example.com/sso")
    }

    @Test func variablesOpenItToo() throws {
        let variables = ["NATIVE_SSO_BACKCHANNEL_REVOKE": "true", "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:9"]
        let backchannel = try #require(try SampleFile.read(SampleFile.minimal, variables).backchannel)
        #expect(backchannel.listener.listen.description == "127.0.0.1:9")
    }

    @Test(
        "What it must not be",
        arguments: [
            ("backchannel: {}", "revoke: is false like every path here; set one to true, or remove the section"),
            (
                "backchannel: { listen: 127.0.0.1:8080, revoke: true }",
                "listen: another listener already takes 127.0.0.1:8080; write another port or path"
            ),
            (
                "backchannel: { listen: 127.0.0.1:8081, revoke: true }",
                "listen: another listener already takes 127.0.0.1:8081; write another port or path"
            ),
            (
                "backchannel: { listen: systemd, plain_http: behind-proxy, trusted_proxies: [127.0.0.1], revoke: true }",
                "listen: only public.listen may be systemd; write an address, or unix: and a path"
            ),
            ("backchannel: { revoke: true, url: \"https://a.example/\" }", "url: must not end with a slash"),
            ("backchannel: { revoke: true, url: \"https://a.example?x\" }", "url: must not contain a query (?)"),
        ])
    func refused(_ text: String, _ message: String) {
        let problems = SampleFile.problems(SampleFile.adding(text))
        #expect(problems == ["test.yaml:10: backchannel.\(message)"])
    }

    @Test func plainHTTPIsForLoopback() {
        let problems = SampleFile.problems(SampleFile.adding("backchannel: { listen: 0.0.0.0:8444, revoke: true }"))
        #expect(problems.count == 1 && problems[0].contains("backchannel.listen: plain HTTP is for loopback"))
    }

    /// Without the listener, nothing is said of its proxies.
    @Test func noWarningWithoutIt() throws {
        let count = try SampleFile.warnings(SampleFile.minimal).count
        let text = SampleFile.adding("backchannel: { revoke: true }")
        #expect(try SampleFile.warnings(text).count == count + 1)
    }
}
