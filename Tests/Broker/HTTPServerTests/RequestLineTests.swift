import Testing

@testable import HTTPServer

@Suite("The first line of a request that the parser refuses")
struct RequestLineTests {
    @Test(arguments: [
        ("FOO /token HTTP/1.1\r\n", true), ("\r\n\r\nFOO /\r\n", true), ("FO", true), ("M-SEARCH ", true),
        ("GARBAGE\r\n", false), ("\u{16}\u{3}\u{1}", false), (" FOO /", false), ("F(O /", false), ("F\tO /", false),
        ("\r\n", false), ("", false),
    ])
    func method(_ text: String, _ hasMethod: Bool) {
        // Whole, and octet by octet.
        var whole = RequestLine()
        whole.scan(Array(text.utf8))
        #expect(whole.hasMethod == hasMethod)
        var pieces = RequestLine()
        for octet in text.utf8 { pieces.scan([octet]) }
        #expect(pieces.hasMethod == hasMethod)
    }

    @Test func lengthIsThatOfTheFirstLine() {
        var line = RequestLine()
        line.scan(Array("\r\nFOO / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(line.length == 14)
    }
}
