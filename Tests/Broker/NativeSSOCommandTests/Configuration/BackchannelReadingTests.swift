import HTTPServer
import Testing

@testable import native_sso

/// The section `backchannel`.
struct BackchannelReadingTests {
    private static func read(_ text: String, _ variables: [String: String] = [:]) throws -> Configuration.Backchannel? {
        try SampleFile.read(SampleFile.adding(text), variables).backchannel
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

    /// Without the listener, which is the default, nothing is said of its proxies.
    @Test func noWarningWithoutIt() throws {
        #expect(try SampleFile.read(SampleFile.minimal).backchannel == nil)
        let count = try SampleFile.warnings(SampleFile.minimal).count
        let text = SampleFile.adding("backchannel: { revoke: true }")
        #expect(try SampleFile.warnings(text).count == count + 1)
    }
}
