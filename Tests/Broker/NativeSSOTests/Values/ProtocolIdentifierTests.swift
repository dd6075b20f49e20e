import NativeSSO
import Testing

@Suite struct ProtocolIdentifierTests {
    @Test(arguments: [
        ("empty", ""),
        ("NUL", "a\u{0}b"),
        ("unit separator", "a\u{1F}b"),
        ("DEL", "a\u{7F}b"),
        ("newline at the end", "app-one\n"),
        ("CRLF, one Character of Swift", "app\r\none"),
        ("no-break space", "app\u{A0}one"),
        ("é composed", "caf\u{E9}"),
        ("é decomposed", "cafe\u{301}"),
        ("full-width letter", "\u{FF41}pp"),
        ("zero-width joiner", "app\u{200D}"),
        ("byte order mark", "\u{FEFF}app"),
    ])
    func refusesWhatIsNotPrintableASCII(name: String, text: String) {
        #expect(ClientID(text) == nil)
        #expect(Issuer(text) == nil)
        #expect(SessionID(text) == nil)
        #expect(Subject(text) == nil)
        #expect(GroupID(text) == nil)
        #expect(KeyThumbprint(text) == nil)
    }

    @Test func keepsEveryPrintableCharacter() {
        let all = String(decoding: Array(0x20...0x7E as ClosedRange<UInt8>), as: UTF8.self)
        #expect(ClientID(all)?.string == all)
        #expect(ClientID(all)?.description == all)
    }

    @Test func lengthIsBoundedInOctets() {
        for (longest, isRead) in [
            (255, { ClientID($0) != nil }), (512, { Issuer($0) != nil }), (255, { SessionID($0) != nil }),
            (255, { Subject($0) != nil }), (255, { GroupID($0) != nil }), (43, { KeyThumbprint($0) != nil }),
        ] as [(Int, (String) -> Bool)] {
            #expect(isRead(String(repeating: "x", count: longest)))
            #expect(!isRead(String(repeating: "x", count: longest + 1)))
        }
    }

    @Test func nothingIsNormalised() {
        #expect(Issuer("https://idp.example.com") != Issuer("https://idp.example.com/"))
        #expect(Issuer("https://idp.example.com") != Issuer("https://IDP.example.com"))
        #expect(ClientID("app") != ClientID("App"))
        #expect(ClientID("app") != ClientID("app "))
    }
}
