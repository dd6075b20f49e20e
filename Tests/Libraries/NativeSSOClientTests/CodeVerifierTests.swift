import NativeSSOClient
import Testing

@Suite struct CodeVerifierTests {
    // RFC 7636 App. B.
    @Test func theChallengeIsThatOfTheRFC() throws {
        let verifier = try #require(CodeVerifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(verifier.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func eachVerifierIsNew() {
        let verifiers = Set((0..<100).map { _ in CodeVerifier().text })
        #expect(verifiers.count == 100)
        #expect(verifiers.allSatisfy { $0.utf8.count == 43 && CodeVerifier($0) != nil })
    }

    @Test(arguments: [42, 129])
    func aVerifierHas43To128Characters(_ count: Int) {
        #expect(CodeVerifier(String(repeating: "a", count: count)) == nil)
    }

    @Test func aVerifierDoesNotPrint() {
        let verifier = CodeVerifier()
        var dumped = ""
        dump(verifier, to: &dumped)
        #expect(!"\(verifier) \(String(reflecting: verifier)) \(dumped)".contains(verifier.text))
    }
}
