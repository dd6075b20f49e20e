import StrictCoding
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648 §10, and RFC 7515 appendix C.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func publishedVectors(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test func alphabetIsTheURLOne() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test(arguments: [
        "A", "AAAAA", "Zg==", "Zg=", "Zm8=", "Zh", "Zm9", "Zm-", "Zm 8", "Zm8\n", " Zm8", "+_8A", "/_8A", "Zm8é",
        "Zm\u{0}8",
    ])
    func refuses(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func everyLengthSurvivesTheRoundTrip() {
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    /// Of all texts with two or three characters, only canonical ones decode, each to different octets.
    @Test func decodingIsInjective() {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var seen: Set<[UInt8]> = []
        for a in alphabet {
            for b in alphabet {
                if let bytes = Base64URL.decode([a, b]) { #expect(seen.insert(bytes).inserted) }
            }
        }
        #expect(seen.count == 256)
    }

    @Test func sliceAndLazyCollectionsDecodeAlike() {
        let text = Array("..Zm9v..".utf8)
        #expect(Base64URL.decode(text[2..<6]) == Array("foo".utf8))
        #expect(Base64URL.decode(text.lazy.filter { $0 != UInt8(ascii: ".") }) == Array("foo".utf8))
    }

    @Test func appends() {
        var text = Array("a.".utf8)
        Base64URL.append([0xFF], to: &text)
        #expect(text == Array("a._w".utf8))
    }
}

@Suite struct Base64Tests {
    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("app-two:", "YXBwLXR3bzo=")])
    func publishedVectors(plain: String, text: String) {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Z===", "====", "==", "Zh==", "Zm9=", "Zm8-", "Zm 8", "Zm9v\n", "Zg==Zg==", "=Zm9",
    ])
    func refuses(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
