@testable import HTTPServer
import NIOCore
import NIOHPACK
import NIOHTTP1
import Testing

@Suite("An answer on the wire")
struct HTTPAnswerTests {
    private func text(_ answer: HTTPAnswer, hasBody: Bool = true, isLast: Bool = false) -> String {
        String(
            buffer: answer.octets(date: "Sun, 06 Nov 1994 08:49:37 GMT", hasBody: hasBody, isLast: isLast))
    }

    @Test("A private answer has every field once, then the body")
    func whole() {
        let answer = HTTPAnswer(status: .badRequest, headers: [("X-Request-Id", "1")], body: Array("{}".utf8))
        #expect(
            text(answer)
                == [
                    "HTTP/1.1 400 Bad Request", "Content-Type: application/json", "Content-Length: 2",
                    "Cache-Control: no-store", "Pragma: no-cache", "X-Content-Type-Options: nosniff",
                    "Date: Sun, 06 Nov 1994 08:49:37 GMT", "X-Request-Id: 1", "", "{}",
                ].joined(separator: "\r\n"))
    }

    @Test("HEAD has the length of GET's body; the last answer says Connection: close")
    func headAndLast() {
        let answer = HTTPAnswer(
            status: .ok, contentType: "text/plain", cacheControl: "public, max-age=300", body: Array("abc".utf8))
        #expect(
            text(answer, hasBody: false, isLast: true)
                == [
                    "HTTP/1.1 200 OK", "Content-Type: text/plain", "Content-Length: 3",
                    "Cache-Control: public, max-age=300", "X-Content-Type-Options: nosniff",
                    "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Connection: close", "", "",
                ].joined(separator: "\r\n"))
    }

    /// The client sets the size of the table in which every field of an answer is searched.
    @Test("HTTP/2 does not index fields that differ in each answer")
    func compression() {
        let answer = HTTPAnswer(
            status: .tooManyRequests, headers: [("Retry-After", "1"), ("X-Request-Id", "1"), ("DPoP-Nonce", "a")],
            body: Array("{}".utf8))
        let entering = answer.block(date: "Sun, 06 Nov 1994 08:49:37 GMT").filter { $0.indexable == .indexable }
        #expect(
            entering.map(\.name)
                == [":status", "content-type", "cache-control", "pragma", "x-content-type-options"])
    }
}
