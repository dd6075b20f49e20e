import NativeSSO
import Testing

@Suite struct IssuerPolicyTests {
    private let policy = IssuerPolicy(
        issuer: Issuer(validated: "https://idp.example.com"), audienceAliases: ["api://default", "caf\u{E9}"],
        profiles: [.deviceID])

    @Test(arguments: ["https://idp.example.com", "api://default", "caf\u{E9}"])
    func isNamedByItselfAndItsAliases(audience: String) {
        #expect(policy.isNamed(by: audience))
    }

    @Test(arguments: [
        "", "https://idp.example.com/", "https://IDP.example.com", "https://idp.example.com\n",
        "http://idp.example.com",
        "https:??idp.example.com", "api://Default", "cafe\u{301}", "https://idp.example.com.evil.example",
    ])
    func isNamedByNothingElse(audience: String) {
        #expect(!policy.isNamed(by: audience))
    }

    @Test func isStrictByDefault() {
        #expect(!policy.admitsOnFirstSight && policy.maximumFirstSightAge == .hours(24))
        #expect(!policy.firstSightRequiresUnexpired && !policy.requiresUnexpiredIDToken)
        #expect(!policy.acceptsHyphenatedIDTokenType)
        #expect(policy.hashMode == .leftHalf)
        #expect(policy.maximumSubjectTokenAge == .days(90))
    }
}
