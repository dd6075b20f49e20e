import BrokerTesting
import StrictCoding
import Testing

@testable import NativeSSO

@Suite struct HandoffValuesTests {
    @Test(arguments: [
        "https://web.example.com", "https://web.example.com:8443", "https://[2001:db8::1]",
        "https://[2001:db8::1]:8443", "http://localhost:9000", "http://127.0.0.1", "http://[::1]:9000",
        "https://xn--bcher-kva.example",
    ])
    func anOrigin(_ text: String) { #expect(WebOrigin(text)?.string == text) }

    @Test(arguments: [
        "", "https://", "https://web.example.com/", "https://web.example.com:443", "https://web.example.com:0443",
        "https://web.example.com:", "https://web.example.com:99999", "https://web.example.com:+80",
        "HTTPS://web.example.com", "https://Web.example.com", "http://web.example.com", "http://localhost:80",
        "https://a@web.example.com", "https://web.example.com?x", "https://web.example.com#x", "https://.example.com",
        "ftp://web.example.com", "null", "https://büch.example", "https://web.example.com ",
        "https://" + String(repeating: "a", count: 248),
    ])
    func noOrigin(_ text: String) { #expect(WebOrigin(text) == nil) }

    /// RFC 7636 App. B.
    @Test func theChallengeIsThatOfPKCE() {
        let challenge = HandoffChallenge(of: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(challenge == HandoffChallenge("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"))
        #expect(challenge != nil)
    }

    @Test(arguments: [
        "", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=",
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM",
    ])
    func noChallenge(_ text: String) { #expect(HandoffChallenge(text) == nil) }

    @Test(arguments: [
        "", String(repeating: "v", count: 42), String(repeating: "v", count: 129), String(repeating: "ü", count: 43),
    ])
    func noVerifier(_ text: String) { #expect(HandoffChallenge(of: text) == nil) }

    @Test func aCodeIsLongAndNew() async throws {
        var randomness = SystemRandomNumberGenerator()
        let (one, two) = (HandoffCode(using: &randomness), HandoffCode(using: &randomness))
        #expect(one.secret != two.secret && one.secret.utf8.count == 48)
        #expect("\(one)" == "****")
        let keys = SoftwareMACKeys()
        let digest = try await one.digest(by: keys)
        #expect(try await HandoffCode(one.secret)?.digest(by: keys) == digest)
        #expect(try await two.digest(by: keys) != digest)
    }

    @Test(arguments: [
        "", "nsh1.", "nsr1." + String(repeating: "A", count: 43), "nsh1." + String(repeating: "A", count: 44),
    ])
    func noCode(_ text: String) { #expect(HandoffCode(text) == nil) }
}
