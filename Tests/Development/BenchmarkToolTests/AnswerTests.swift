import Testing

@testable import native_sso_bench

struct AnswerTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\nDate: now\r\n\r\n"

    private func parsed(_ text: String) -> AnswerHead? { parsed(Array(text.utf8)) }
    private func parsed(_ octets: [UInt8]) -> AnswerHead? { octets.withUnsafeBytes { AnswerHead($0) } }

    @Test func aHeadSaysWhereItsBodyEnds() throws {
        let head = try #require(parsed(Self.head + "{\"a\":\"b\"}"))
        #expect(head.status == 200)
        #expect(head.bodyStart == Self.head.utf8.count)
        #expect(head.bodyLength == 11)
    }

    /// RFC 9110 §5.1 and §5.5: either case, with or without a space.
    @Test(arguments: ["content-length: 11", "CONTENT-LENGTH:11", "Content-Length:  11"])
    func theLengthIsFoundHoweverItIsWritten(_ field: String) {
        let text = Self.head.replacing("Content-Length: 11", with: field)
        #expect(parsed(text)?.bodyLength == 11)
    }

    @Test func aPartIsNotAHead() {
        let octets = Array(Self.head.utf8)
        for count in octets.indices { #expect(parsed(Array(octets[..<count])) == nil) }
        #expect(parsed(Self.head) != nil)
    }

    @Test(arguments: ["X-Content-Length: 5\r\nServer: s", "Server: Content-Length: 5"])
    func anotherFieldIsNotTheLength(_ fields: String) {
        #expect(parsed("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n") == nil)
    }

    private static let body =
        #"{"access_token":"eyJh.b.c","token_type":"Bearer","expires_in":300,"scope":"openid","refresh_token":"nsr1.abc"}"#

    @Test func tokensAreFoundWhereTheyLie() {
        Array(Self.body.utf8).withUnsafeBytes { body in
            #expect(TokenAnswer.isComplete(body))
            #expect(TokenAnswer.refreshToken(in: body).map { String(decoding: $0, as: UTF8.self) } == "nsr1.abc")
            #expect(TokenAnswer.accessToken(in: body).map { String(decoding: $0, as: UTF8.self) } == "eyJh.b.c")
        }
    }

    @Test func aTokenOfAnotherTypeIsAnotherAnswer() {
        let bound = Self.body.replacing("Bearer", with: "DPoP")
        for (text, type) in [(Self.body, TokenType.proofOfPossession), (bound, .bearer)] {
            #expect(!Array(text.utf8).withUnsafeBytes { TokenAnswer.isComplete($0, type) })
        }
        #expect(Array(bound.utf8).withUnsafeBytes { TokenAnswer.isComplete($0, .proofOfPossession) })
    }

    @Test(arguments: ["access_token", "token_type", "expires_in", "scope", "refresh_token"])
    func anAnswerWithoutAMemberIsNotComplete(_ member: String) {
        let text = Self.body.replacing("\"\(member)\"", with: "\"other\"")
        #expect(!Array(text.utf8).withUnsafeBytes { TokenAnswer.isComplete($0) })
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
