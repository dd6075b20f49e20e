import OAuthWire
import StrictCoding
import Testing

@Suite("Strict decoding of application/x-www-form-urlencoded")
struct FormDecoderTests {
    private func decode(_ form: String) throws -> FormParameters { try FormDecoder.decode(Array(form.utf8)) }

    @Test(
        "Values are decoded once",
        arguments: [
            ("a=b", "b"), ("a=b=c", "b=c"), ("a=b+c", "b c"), ("a=%2B%26%3D%25", "+&=%"), ("a=%2541", "%41"),
            ("a=%c3%a9", "é"), ("a=%C3%A9", "é"), ("x=1&a=b", "b"), ("&&a=b&", "b"),
            ("%61=b", "b"), ("a=https://idp.example", "https://idp.example"), ("a=%3B", ";"),
            ("a=~%20", "~ "),
        ])
    func decodes(form: String, value: String) throws {
        #expect(try Array((decode(form)["a"] ?? "absent").utf8) == Array(value.utf8))
    }

    @Test(
        "Control characters stay in values that are compared octet by octet",
        arguments: ["grant_type", "refresh_token"])
    func leavesToComparison(name: String) throws {
        #expect(try decode("\(name)=%c2%85")[name] == "\u{85}")
        let form = try decode("\(name)=refresh_token%00")
        #expect(Array(try #require(form[name]).utf8) == Array("refresh_token\0".utf8))
        #expect(throws: FormError.controlCharacter) { try decode("\(name)=x&scope=%0a") }
    }

    @Test(
        "Each malformed form is refused for its reason",
        arguments: [
            ("a=%", FormError.malformedPercentEncoding), ("%6=a", .malformedPercentEncoding),
            ("a=%+1", .malformedPercentEncoding), ("a=%c3", .invalidUTF8), ("a=\n", .controlCharacter),
            ("a%00=b", .malformedName), ("%EF%BB%BFgrant_type=x", .malformedName),
            ("client_id=a&client_id%5B0%5D=b", .malformedName), ("a b=1", .malformedName), ("ö=x", .malformedName),
            ("a=ö;b=1", .unescapedSemicolon), ("grant_type=%c3", .invalidUTF8), ("refresh_token=%ff", .invalidUTF8),
            ("code_verifier=" + String(repeating: "%ff", count: 129), .valueTooLong),
            (String(repeating: "%ff", count: 129) + "=x", .nameTooLong), ("a&a=1", .duplicateParameter),
        ])
    func refuses(form: String, error: FormError) {
        #expect(throws: error) { try decode(form) }
    }

    @Test("A parameter without a value counts as absent; names are case-sensitive")
    func absence() throws {
        let form = try decode("a=&b&Scope=x")
        #expect(form["a"] == nil)
        #expect(form["b"] == nil)
        #expect(form["scope"] == nil)
        #expect(form["Scope"] == "x")
        #expect(try decode("")["a"] == nil)
    }

    @Test("audience and resource keep every value, also empty ones")
    func repeatable() throws {
        let form = try decode("audience=a&resource=&audience=b&audience=&resource=r")
        #expect(form.values(of: "audience") == ["a", "b", ""])
        #expect(form.values(of: "resource") == ["", "r"])
    }

    @Test(
        "A value may be as long as its limit, but not longer",
        arguments: [
            ("subject_token", 16_384), ("actor_token", 4096), ("client_assertion", 8192), ("scope", 4096),
            ("code", 4096), ("redirect_uri", 2048), ("code_verifier", 128), ("refresh_token", 512),
            ("client_id", 255), ("client_secret", 1024), ("audience", 1024), ("unknown", 1024),
        ])
    func valueLengths(name: String, limit: Int) throws {
        #expect(try decode("\(name)=" + String(repeating: "a", count: limit))[name]?.utf8.count == limit)
        #expect(throws: FormError.valueTooLong) { try decode("\(name)=" + String(repeating: "a", count: limit + 1)) }
        // Limits apply to decoded text, so escaping changes nothing.
        #expect(try decode("\(name)=" + String(repeating: "%61", count: limit))[name]?.utf8.count == limit)
    }

    /// So neither many parameters nor chosen names cost more than 32 of them.
    @Test("Nothing behind the 33rd parameter is read; a semicolon in it is named first")
    func stopsAtTheLimit() {
        let parameters = (1...33).map { "p\($0)=x" }.joined(separator: "&")
        #expect(throws: FormError.unescapedSemicolon) { try decode(parameters + ";") }
        #expect(throws: FormError.tooManyParameters) { try decode(parameters + "&a=%zz;") }
    }

    @Test("A form never prints its content")
    func secrecy() throws {
        let form = try decode("client_secret=hunter2")
        var dumped = ""
        dump(form, to: &dumped)
        #expect(!"\(form) \(String(reflecting: form)) \(dumped)".contains("hunter2"))
    }

    @Test("The decoder reads what the encoder writes")
    func roundTrip() throws {
        let value = (0x20...0x17F).compactMap(Unicode.Scalar.init).filter {
            $0.value != 0x7F && !(0x80..<0xA0).contains($0.value)
        }
        .reduce(into: "") { $0.unicodeScalars.append($1) }
        let form = try FormDecoder.decode(FormEncoder.encode(["a": value, "b": "x y"]))
        #expect(try Array(#require(form["a"]).utf8) == Array(value.utf8))
        #expect(form["b"] == "x y")
    }

    @Test("Every octet, percent-encoded, is decoded or refused for its reason")
    func octets() throws {
        for octet in UInt8.min...UInt8.max {
            let form = "a=%" + Hexadecimal.encode(CollectionOfOne(octet))
            switch octet {
            case 0x20...0x7E: #expect(try decode(form)["a"].map { Array($0.utf8) } == [octet])
            case 0x00...0x1F, 0x7F: #expect(throws: FormError.controlCharacter) { try decode(form) }
            default: #expect(throws: FormError.invalidUTF8) { try decode(form) }
            }
        }
    }

    @Test("A tab is left to the grammar of a scope, and refused elsewhere")
    func tabs() throws {
        #expect(try decode("scope=a%09b")["scope"] == "a\tb")
        #expect(throws: FormError.controlCharacter) { try decode("scope=a%09%00b") }
        #expect(throws: FormError.controlCharacter) { try decode("audience=a%09b") }
    }
}
