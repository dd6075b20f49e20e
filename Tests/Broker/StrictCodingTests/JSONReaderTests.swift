import StrictCoding
import Testing

@Suite struct JSONReaderTests {
    private func parse(_ text: String, _ limits: JSONLimits = .default) throws(JSONError) -> JSONValue {
        try JSONReader.parse(Array(text.utf8), limits: limits)
    }

    @Test func readsEveryKindOfValue() throws {
        let value = try parse(#" {"s":"x","n":-12.5e+3,"t":true,"f":false,"z":null,"a":[1,[],{}],"o":{"k":"v"}} "#)
        let object = try #require(value.object)
        #expect(object.names == ["s", "n", "t", "f", "z", "a", "o"])
        #expect(object.string("s") == "x")
        #expect(object.number("n")?.text == "-12.5e+3")
        #expect(object.bool("t") == true)
        #expect(object.bool("f") == false)
        #expect(object["z"] == .null)
        #expect(object.array("a")?.count == 3)
        #expect(object.object("o")?.string("k") == "v")
        #expect(object["missing"] == nil)
        #expect(object.string("n") == nil)
    }

    @Test func readsEscapes() throws {
        #expect(try parse(#""\"\\\/\b\f\n\r\t""#) == .string("\"\\/\u{8}\u{C}\n\r\t"))
        #expect(try parse(#""\u00e9\u20AC\uD834\uDD1E""#) == .string("é€𝄞"))
        #expect(try parse(#""https:\/\/idp.example.com""#) == .string("https://idp.example.com"))
        #expect(try parse(#""a\u0000b""#) == .string("a\u{0}b"))
    }

    @Test(arguments: [
        (#""\uD834""#, JSONError.unexpectedByte(offset: 7)), (#""\uD834x""#, .unexpectedByte(offset: 7)),
        (#""\uD834\u0041""#, .invalidUnicode(offset: 1)), (#""\uDD1E""#, .invalidUnicode(offset: 1)),
        (#""\uD834\uD834""#, .invalidUnicode(offset: 1)), (#""\u12G4""#, .unexpectedByte(offset: 5)),
        (#""\x41""#, .unexpectedByte(offset: 2)), ("\"a\nb\"", .unexpectedByte(offset: 2)),
        (#""abc"#, .unexpectedEnd), (#""\"#, .unexpectedEnd), (#""\u12"#, .unexpectedEnd),
    ])
    func refusesStrings(text: String, error: JSONError) {
        #expect(throws: error) { try parse(text) }
    }

    @Test(arguments: [
        "", " ", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}",
        "{\"a\" 1}",
        "[1,]", "[,1]", "[1 2]", "]", "}", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "+1", "01", "-01",
        "-", "1.",
        ".5", "1.e3", "1e", "1e+", "0x10", "1_000", "{}{}", "{} x", "[]]", "// c\n1", "\u{FEFF}{}", "{\"a\":1;\"b\":2}",
    ])
    func refusesDocuments(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    /// Overlong forms, surrogates, code points past the last, lone and missing continuation octets.
    @Test(
        arguments: [
            [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80], [0xC3], [0xFF],
            [0xFE, 0xFF],
            [0xF8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func refusesWhatIsNotUTF8(octets: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONError.invalidUnicode(offset: 1)) { try JSONReader.parse([quote] + octets + [quote]) }
        #expect(throws: JSONError.invalidUnicode(offset: 1)) {
            try JSONReader.parse([quote] + octets + Array(#"\n""#.utf8))
        }
    }

    @Test(arguments: [#"{"a":1,"a":1}"#, #"{"alg":"RS256","\u0061lg":"none"}"#, #"{"x":{"b":1,"b":2}}"#])
    func refusesRepeatedNames(text: String) {
        #expect {
            try parse(text)
        } throws: {
            if case .duplicateName? = $0 as? JSONError { true } else { false }
        }
    }

    @Test func namesAreComparedAsOctets() throws {
        let object = try #require(try parse("{\"\u{E9}\":1,\"e\u{301}\":2}").object)
        #expect(object.count == 2)
        #expect(object.number("\u{E9}")?.int64 == 1)
        #expect(object.number("e\u{301}")?.int64 == 2)
        #expect(object["E\u{301}"] == nil)
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    }

    @Test func holdsTheLimits() throws {
        let eight = String(repeating: "[", count: 8) + String(repeating: "]", count: 8)
        #expect(throws: Never.self) { try parse(eight) }
        #expect(throws: JSONError.tooDeep) { try parse("[" + eight + "]") }
        #expect(throws: JSONError.tooDeep) { try parse(#"{"a":"# + eight + "}") }
        func members(_ count: Int) -> String { "{" + (0..<count).map { "\"m\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(try parse(members(128)).object?.count == 128)
        #expect(throws: JSONError.tooManyMembers) { try parse(members(129)) }
        #expect(throws: JSONError.tooManyMembers) { try parse("[\(members(64)),\(members(65))]") }
        func elements(_ count: Int) -> String {
            "[" + [String](repeating: "0", count: count).joined(separator: ",") + "]"
        }
        #expect(try parse(elements(1024)).array?.count == 1024)
        #expect(throws: JSONError.tooManyElements) { try parse(elements(1025)) }
    }

    /// A hundred thousand brackets cost no stack and little time under any limit.
    @Test func depthIsBoundedAtEveryLimit() {
        let bomb = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        #expect(throws: JSONError.tooDeep) { try JSONReader.parse(bomb) }
        #expect(throws: JSONError.tooDeep) { try JSONReader.parse(bomb, limits: JSONLimits(depth: .max)) }
    }

    /// No prefix, and no document with one octet replaced, may trap.
    @Test func mutatedDocumentsNeverTrap() throws {
        let document = Array(
            #"{"iss":"https:\/\/idp","aud":["a","\u00e9\uD834\uDD1E"],"exp":1.7e9,"x":{"y":[null,true,-0.5]}}"#.utf8)
        for length in 0..<document.count {
            #expect(throws: JSONError.self) { try JSONReader.parse(document[..<length]) }
        }
        for index in document.indices {
            for octet in UInt8.min...UInt8.max {
                var mutated = document
                mutated[index] = octet
                _ = try? JSONReader.parse(mutated)
            }
        }
    }
}
