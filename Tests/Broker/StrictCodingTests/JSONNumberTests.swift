import StrictCoding
import Testing

@Suite struct JSONNumberTests {
    private func number(_ text: String) throws -> JSONNumber {
        try #require(try JSONReader.parse(Array(text.utf8)).number)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("1700000000", 1_700_000_000), ("-1", -1), ("1700000000.9", 1_700_000_000),
            ("-0.5", -1),
            ("-1.0", -1), ("1.7e9", 1_700_000_000), ("17E+8", 1_700_000_000), ("17000000009e-1", 1_700_000_000),
            ("0.5", 0),
            ("0.00017e4", 1), ("0.0e999999999", 0), ("1e-999999999", 0), ("-1e-999999999", -1),
            ("1e18", 1_000_000_000_000_000_000),
            ("9223372036854775807", .max), ("9223372036854775807.5", .max), ("-9223372036854775808", .min),
            ("9.223372036854775807e18", .max),
        ] as [(String, Int64)])
    func wholeSeconds(text: String, seconds: Int64) throws {
        #expect(try number(text).wholeSeconds == seconds)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "1e308", "1e19", "-1e19", "1e99999999999999999999", "9.3e18",
        "1e9223372036854775807", "12345678901234567890", "-1e99999999999999999999",
    ])
    func whatDoesNotFitIsNil(text: String) throws {
        #expect(try number(text).wholeSeconds == nil)
        #expect(try number(text).int64 == nil)
    }

    @Test func int64IsExact() throws {
        #expect(try number("42").int64 == 42)
        #expect(try number("-9223372036854775808").int64 == .min)
        #expect(try number("42.0").int64 == nil)
        #expect(try number("42e0").int64 == nil)
        #expect(JSONNumber(-7).int64 == -7)
    }
}
