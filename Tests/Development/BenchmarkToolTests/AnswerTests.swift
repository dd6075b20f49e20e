import Testing

@testable import native_sso_bench

struct AnswerTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\nDate: now\r\n\r\n"

    private func parsed(_ text: String) -> AnswerHead? { parsed(Array(text.utf8)) }
    private func parsed(_ octets: [UInt8]) -> AnswerHead? { octets.withUnsafeBytes { AnswerHead($0) } }

    /// RFC 9110 §5.1 and §5.5: either case, with or without a space.
    @Test(arguments: ["Content-Length: 11", "content-length: 11", "CONTENT-LENGTH:11", "Content-Length:  11"])
    func aHeadSaysWhereItsBodyEnds(_ field: String) throws {
        let text = Self.head.replacing("Content-Length: 11", with: field)
        let head = try #require(parsed(text + "{\"a\":\"b\"}"))
        #expect(head.status == 200 && head.bodyStart == text.utf8.count && head.bodyLength == 11)
        let octets = Array(text.utf8)
        for count in octets.indices { #expect(parsed(Array(octets[..<count])) == nil) }
    }

    @Test(arguments: ["X-Content-Length: 5\r\nServer: s", "Server: Content-Length: 5"])
    func anotherFieldIsNotTheLength(_ fields: String) {
        #expect(parsed("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n") == nil)
    }

    private static let body =
        #"{"access_token":"eyJh.b.c","token_type":"Bearer","expires_in":300,"scope":"openid","refresh_token":"nsr1.abc"}"#

    @Test func anAnswerIsCompleteWithAllMembersAndItsType() {
        func isComplete(_ text: String, _ type: TokenType = .bearer) -> Bool {
            Array(text.utf8).withUnsafeBytes { TokenAnswer.isComplete($0, type) }
        }
        let bound = Self.body.replacing("Bearer", with: "DPoP")
        #expect(isComplete(Self.body) && isComplete(bound, .proofOfPossession))
        #expect(!isComplete(Self.body, .proofOfPossession) && !isComplete(bound))
        for member in ["access_token", "token_type", "expires_in", "scope", "refresh_token"] {
            #expect(!isComplete(Self.body.replacing("\"\(member)\"", with: "\"other\"")), "\(member)")
        }
    }

    @Test func refusalsAndOutagesAreCountedApart() {
        var result = LoadResult(sampling: 1)
        func note(_ status: Int, _ text: String) -> Bool {
            Array(text.utf8).withUnsafeBytes { result.note(status, $0, nanoseconds: 2_500_000) }
        }
        #expect(note(200, Self.body))
        #expect(!note(503, #"{"error":"temporarily_unavailable"}"#))
        #expect(!note(400, #"{"error":"invalid_grant"}"#))
        #expect(!note(200, #"{"access_token":"ey"}"#))
        #expect(result.requests == 4)
        #expect(result.unavailable == 1)
        #expect(result.wrongAnswers == 2)
        #expect(result.firstWrongAnswer == #"400 {"error":"invalid_grant"}"#)
        #expect(result.samples == ["eyJh.b.c"])
        #expect(result.latencies == [2500, 2500, 2500, 2500])
    }
}
