import NativeSSO
import Testing

@testable import native_sso

/// The names that users have had at APIs stay theirs.
@Suite struct PrefixesInUseTests {
    private static let idp = Issuer(validated: "https://idp.example.com")
    private static let gone = Issuer(validated: "https://gone.example.com")
    private static let forget = "let an administrator type: native-sso subject-prefix forget https://idp.example.com"

    private func conflicts(_ yaml: String, _ used: [Issuer: String]) throws -> [String] {
        try SampleFile.read(yaml).conflicts(withPrefixesInUse: used).map { $0.line(file: "test.yaml") }
    }

    @Test func theSameNamesAreNoConflict() throws {
        #expect(try conflicts(SampleFile.minimal, [Self.idp: ""]) == [])
        let prefixed = SampleFile.adding("    subject_prefix: partner|")
        #expect(try conflicts(prefixed, [Self.idp: "partner|"]) == [])
        #expect(try conflicts(prefixed, [:]) == [])
        #expect(try conflicts(prefixed, [Self.gone: ""]) == [])
    }

    @Test func aPrefixThatWasAddedChangedOrRemoved() throws {
        let had = "users of https://idp.example.com have names"
        let none = "without subject_prefix"
        let partner = "with the subject_prefix partner|"
        #expect(
            try conflicts(SampleFile.adding("    subject_prefix: partner|"), [Self.idp: ""]) == [
                "test.yaml:10: identity_providers[0].subject_prefix: \(had) \(none) at APIs already, and now would get names "
                    + "\(partner); restore it, or \(Self.forget)"
            ])
        let removed = try conflicts(SampleFile.minimal, [Self.idp: "partner|"]).first
        #expect(removed?.contains("\(had) \(partner) at APIs already, and now would get names \(none)") == true)
    }

    @Test(arguments: [("", ""), ("    subject_prefix: partner|x", "partner|")])
    func namesOfAProviderThatIsGone(line: String, used: String) throws {
        let found = try conflicts(SampleFile.adding(line), [Self.gone: used])
        #expect(found.count == 1)
        #expect(
            found.first?.contains(
                "at APIs already, and users of https://idp.example.com could get the same ones; write another subject_prefix, "
                    + "or keep https://gone.example.com with disabled: true and write shares_subjects_with") == true)
    }

    @Test func aProviderThatSharesItsSubjectsMayFollow() throws {
        let yaml = SampleFile.adding(
            """
                shares_subjects_with: https://gone.example.com
              - issuer: https://gone.example.com
                profiles: [device-secret]
                algorithms: [RS256]
                disabled: true
            """)
        #expect(try conflicts(yaml, [Self.gone: ""]) == [])
    }
}
