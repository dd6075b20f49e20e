import NativeSSO
import Testing

@Suite struct SubjectPrefixesTests {
    private let plain = Issuer(validated: "https://plain.example.com")
    private let twin = Issuer(validated: "https://twin.example.com")
    private let partner = Issuer(validated: "https://partner.example.com")
    private let prefixes: SubjectPrefixes

    init() { prefixes = SubjectPrefixes([plain: "", twin: "", partner: "partner|"]) }

    private func name(_ subject: String, at provider: Issuer) -> Result<String, SubjectTokenDefect> {
        Result { () throws(SubjectTokenDefect) in
            try prefixes.name(Subject(validated: subject), at: provider).string
        }
    }

    private func subject(named name: String, at provider: Issuer) -> String? {
        prefixes.subject(named: Subject(validated: name), at: provider)?.string
    }

    @Test func aNameBelongsToOneUser() {
        #expect(name("alice", at: plain) == .success("alice"))
        #expect(name("alice", at: twin) == .success("alice"))
        #expect(name("alice", at: partner) == .success("partner|alice"))
        // One prefix is put there, whatever the IdP wrote.
        #expect(name("partner|alice", at: partner) == .success("partner|partner|alice"))
        for provider in [plain, twin] {
            #expect(name("partner|alice", at: provider) == .failure(.subjectReserved))
            #expect(name("partner|", at: provider) == .failure(.subjectReserved))
            #expect(name("partner", at: provider) == .success("partner"))
        }
    }

    @Test func aNameLeadsBackToItsUserAlone() {
        #expect(subject(named: "alice", at: plain) == "alice")
        #expect(subject(named: "partner|alice", at: partner) == "alice")
        #expect(subject(named: "partner|partner|alice", at: partner) == "partner|alice")
        #expect(subject(named: "partner|alice", at: plain) == nil)
        #expect(subject(named: "alice", at: partner) == nil)
        #expect(subject(named: "partner|", at: partner) == nil)
    }

    @Test func aNameHasAtMost255Octets() {
        let longest = String(repeating: "a", count: 255 - "partner|".utf8.count)
        #expect(name(longest, at: partner) == .success("partner|" + longest))
        #expect(name(longest + "a", at: partner) == .failure(.subject))
    }

    @Test func aProviderThatIsNotConfiguredHasNoUsers() {
        let gone = Issuer(validated: "https://gone.example.com")
        #expect(name("alice", at: gone) == .failure(.issuerMismatch))
        #expect(subject(named: "alice", at: gone) == nil)
    }
}
