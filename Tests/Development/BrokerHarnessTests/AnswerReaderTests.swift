import BrokerHarness
import Testing

struct AnswerReaderTests {
    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
    ])
    func anAnswerIsReadAsItComes(_ text: String) throws {
        for count in 0..<text.utf8.count {
            var part = AnswerReader()
            part.append(Array(text.utf8)[..<count])
            #expect(try part.next() == nil, "complete after \(count)")
        }
        var reader = AnswerReader()
        for octet in Array((text + text).utf8) { reader.append([octet]) }
        for _ in 1...2 {
            let answer = try #require(try reader.next())
            #expect(answer.status == 400 && answer.text == "abc")
        }
        #expect(reader.isEmpty)
    }

    @Test func interimAnswersAreShownOnRequest() throws {
        var reader = AnswerReader()
        reader.append(Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n".utf8))
        var other = reader
        #expect(try reader.next()?.status == 204)
        #expect(try other.next(showsInterim: true)?.status == 100)
    }

    @Test(arguments: ["HTTP/2 400", "HTTP/1.0 200 OK", "HTTP/1.1 x", "HTTP/1.1 200 OK\r\nContent-Length: -1"])
    func whatIsNoAnswerIsRefused(_ head: String) {
        var reader = AnswerReader()
        reader.append(Array((head + "\r\n\r\n").utf8))
        #expect(throws: HTTPFailure.self) { try reader.next() }
    }
}
