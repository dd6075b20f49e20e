import StrictCoding
import Testing

@Suite struct HexadecimalTests {
    @Test func writesLowerCase() {
        #expect(Hexadecimal.encode([0x00, 0x0F, 0xAB, 0xFF]) == "000fabff")
    }

    @Test func readsEitherCase() {
        #expect(Hexadecimal.decode("000fABff") == [0x00, 0x0F, 0xAB, 0xFF])
        #expect(Hexadecimal.decode("") == [])
    }

    @Test(arguments: ["0", "0g", "0x", " 00", "00\n", "é"])
    func refuses(text: String) {
        #expect(Hexadecimal.decode(text) == nil)
    }
}

@Suite struct ConstantTimeTests {
    @Test func comparesOctets() {
        #expect(ConstantTime.equal("abc".utf8, Array("abc".utf8)))
        #expect(!ConstantTime.equal("abc".utf8, "abd".utf8))
        #expect(!ConstantTime.equal("bbc".utf8, "abc".utf8))
        #expect(!ConstantTime.equal("abc".utf8, "abcd".utf8))
        #expect(!ConstantTime.equal("".utf8, "a".utf8))
        #expect(ConstantTime.equal("".utf8, "".utf8))
        #expect(!ConstantTime.equal("\u{E9}".utf8, "e\u{301}".utf8))
    }
}
