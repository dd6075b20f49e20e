import StrictCoding
import Testing

@Suite struct JSONWriterTests {
    @Test func writesInTheOrderOfTheCalls() {
        var json = JSONWriter()
        json.object { json in
            json.member("iss", "https://sso.example.com")
            json.member("exp", 1_795_000_300)
            json.member("zero", 0)
            json.member("least", Int64.min)
            json.member("ok", true)
            json.member("amr", ["pwd", "otp"])
            json.member("none", [String]())
            json.member("cnf", object: { $0.member("jkt", "x") })
            json.member(
                "list",
                array: { json in
                    json.value("a")
                    json.object { _ in }
                    json.value(.null)
                })
            json.member("raw", raw: #"{"a":1}"#.utf8)
        }
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == #"{"iss":"https://sso.example.com","exp":1795000300,"zero":0,"#
                + #""least":-9223372036854775808,"ok":true,"amr":["pwd","otp"],"none":[],"cnf":{"jkt":"x"},"#
                + #""list":["a",{},null],"raw":{"a":1}}"#)
    }

    @Test func escapes() {
        var json = JSONWriter()
        json.value("a\"b\\c\u{0}\n\u{1F}\u{7F}é</script>")
        #expect(String(decoding: json.bytes, as: UTF8.self) == #""a\"b\\c\u0000\u000a\u001f"# + "\u{7F}é</script>\"")
    }

    @Test func whatIsWrittenIsReadBack() throws {
        let scalars = (0..<0x300).compactMap(Unicode.Scalar.init) + ["\u{FFFF}", "\u{10FFFF}", "\u{2028}"]
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        var object = JSONObject()
        object["all \"names\" too\n"] = .string(String(text))
        object["n"] = .number(JSONNumber(.max))
        object["a"] = .array([.bool(false), .null, .array([]), .object(JSONObject())])
        #expect(try JSONReader.parse(object.octets) == .object(object))
    }
}

@Suite struct JSONObjectTests {
    @Test func setsReplacesAndRemoves() {
        var object = JSONObject()
        object["a"] = .bool(true)
        object["b"] = .null
        object["a"] = .string("x")
        #expect(object.names == ["a", "b"])
        #expect(object.string("a") == "x")
        #expect(object.contains("b"))
        object["a"] = nil
        object["c"] = nil
        #expect(object.names == ["b"])
    }
}
