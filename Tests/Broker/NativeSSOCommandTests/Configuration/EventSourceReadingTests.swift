import IdentityProvider
import NativeSSO
import Testing

@testable import native_sso

/// `security_events` and `global_token_revocation` of an identity provider.
struct EventSourceReadingTests {
    private static let switches = """
        backchannel: { listen: 127.0.0.1:9, trusted_proxies: [], security_events: true, global_token_revocation: true }

        """

    private static func adding(_ lines: String...) -> String {
        SampleFile.minimal + lines.map { "    \($0)\n" }.joined() + switches
    }

    @Test func emptySectionsMeanTheIdentityProvider() throws {
        let text = Self.adding("security_events: {}", "global_token_revocation: {}")
        let configuration = try SampleFile.read(text)
        let provider = try #require(configuration.identityProviders.first)
        for source in [provider.securityEvents, provider.globalTokenRevocation] {
            #expect(source?.issuer == provider.issuer)
            #expect(source?.keySource == nil && source?.audiences == [])
        }
        #expect(configuration.backchannel?.takesEvents == true && configuration.backchannel?.takesRevocations == true)
        #expect(try SampleFile.warnings(text) == [SampleFile.unnamedProxy])
        #expect(try SampleFile.read(SampleFile.minimal).identityProviders.first?.securityEvents == nil)
    }

    @Test func aSignerOfItsOwn() throws {
        let configuration = try SampleFile.read(
            Self.adding(
                "security_events: { issuer: https://org.example.com, audiences: [https://a.example, urn:b] }",
                "global_token_revocation: { issuer: https://org.example.com, jwks_uri: https://org.example.com/k }"))
        let provider = try #require(configuration.identityProviders.first)
        let events = try #require(provider.securityEvents)
        #expect(
            events.issuer.string == "https://org.example.com" && events.audiences == ["https://a.example", "urn:b"])
        guard case .discovery(let document, keySetHosts: _) = events.keySource,
            case .keySet(let keys) = provider.globalTokenRevocation?.keySource
        else {
            Issue.record("another source of keys")
            return
        }
        #expect(document.host == "org.example.com" && keys.string == "https://org.example.com/k")
    }

    @Test func oneSignerSpeaksForOneIdentityProvider() {
        let second = """
              - issuer: https://other.example.com
                profiles: [device-secret]
                algorithms: [RS256]
                subject_prefix: "b|"
                security_events: { issuer: https://idp.example.com }

            """
        let text = SampleFile.minimal + "    security_events: {}\n" + second + Self.switches
        let problems = SampleFile.problems(text)
        #expect(problems.count == 1)
        #expect(problems.first?.contains("one signer speaks for one identity provider") == true)
    }

    @Test func whatHasNoEffectWarns() throws {
        let withoutSwitch = try SampleFile.warnings(SampleFile.minimal + "    security_events: {}\n")
        #expect(withoutSwitch.contains { $0.contains("security_events has no effect") })
        let withoutSection = try SampleFile.warnings(SampleFile.minimal + Self.switches)
        #expect(withoutSection.filter { $0.contains("every token is refused") }.count == 2)
    }
}
