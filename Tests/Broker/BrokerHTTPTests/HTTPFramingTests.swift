@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite("HTTP that is malformed, ambiguous or too large", .timeLimit(.minutes(1)))
struct HTTPFramingTests {
    @Test("H-09 a length with chunks ends the connection; a smuggled request is not run")
    func lengthAndChunks() async throws {
        let smuggled = Requests.post(Requests.exchange)
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                + smuggled,
            status: 400, reason: "http_malformed")
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
                + smuggled,
            status: 400, reason: "http_malformed")
    }

    @Test(
        "H-10, H-11 invalid lengths are refused",
        arguments: [
            "Content-Length: 10\r\nContent-Length: 20", "Content-Length: 10\r\nContent-Length: 10",
            "Content-Length: +10",
            "Content-Length: 0x0a", "Content-Length: 10,10", "Content-Length: -1", "Content-Length: 1e1",
            "Content-Length: 99999999999999999999", "Content-Length: 10 20", "Content-Length:",
        ])
    func lengths(field: String) async throws {
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n0123456789" + Requests.post(Requests.exchange),
            status: 400, reason: "http_malformed")
    }

    @Test(
        "H-12 malformed chunks are refused",
        arguments: [
            ("FFFFFFFFFFFFFFFF\r\nabc", "http_malformed"), ("FFFFFFFFFFFFFFFFF\r\nabc", "http_malformed"),
            ("-1\r\nabc\r\n", "http_malformed"), ("0x3\r\nabc\r\n0\r\n\r\n", "http_malformed"),
            ("3\nabc\n0\n\n", "http_malformed"), (" 3\r\nabc\r\n0\r\n\r\n", "http_malformed"),
            ("3\r\nabcd\r\n0\r\n\r\n", "http_malformed"), ("\r\n3\r\nabc\r\n0\r\n\r\n", "http_malformed"),
            ("3;" + String(repeating: "x", count: 65_536) + "\r\nabc\r\n0\r\n\r\n", "http_chunk_extension"),
            ("3\r\nabc\r\n0\r\nAuthorization: Basic YXBwOg==\r\n\r\n", "http_trailers"),
        ])
    func chunks(body: String, reason: String) async throws {
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body, status: 400, reason: reason)
    }

    @Test("A chunked body is read")
    func chunked() async throws {
        let form = Array(Requests.exchangeBody.utf8)
        let middle = form.count / 2
        let chunks = [form[..<middle], form[middle...]].map { chunk in
            String(chunk.count, radix: 16) + ";ext=1\r\n" + String(decoding: chunk, as: UTF8.self) + "\r\n"
        }
        try await TestBroker.run { broker async throws in
            let head =
                "POST /token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                + "Transfer-Encoding: Chunked\r\n\r\n"
            #expect(try await broker.answer(head + chunks.joined() + "0\r\n\r\n")?.status == 200)
        }
    }

    @Test(
        "Other transfer codings are refused",
        arguments: [
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: xchunked",
            "Transfer-Encoding: \u{0B}chunked",
        ])
    func transferCodings(field: String) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(
                try await broker.answer("POST /token HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n0\r\n\r\n"))
            #expect(answer.status == 400)
            #expect(answer.closes)
        }
    }

    @Test(
        "H-13 malformed header fields are refused",
        arguments: [
            "Authorization : Basic YXBwOg==", "X-A: a\r\n b", "X-A: a\r\n\tb", "X-A: a\u{0}b", "X-A: a\rb", "X A: b",
            ": b",
            "X-A\u{0}: b", "\u{1}: b", "no colon",
        ])
    func fields(field: String) async throws {
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\n\(field)\r\nContent-Length: 0\r\n\r\n", status: 400,
            reason: "http_malformed")
    }

    @Test(
        "Malformed request lines are refused",
        arguments: [
            "POST /token", "POST /token HTTP/2.0", "POST /token HTTP/1.2",
            "POST /token HTTP/9",
            "POST /to ken HTTP/1.1", "GARBAGE", "\u{16}\u{3}\u{1}", "POST /token HTTP/1.1 ",
        ])
    func requestLines(line: String) async throws {
        try await TestBroker.expectRefusal("\(line)\r\nHost: a\r\n\r\n", status: 400, reason: "http_malformed")
    }

    @Test("Trailing spaces and tabs are not part of a value, RFC 9110 §5.5", arguments: [" ", "\t", " \t "])
    func outerWhitespace(space: String) async throws {
        try await TestBroker.run { broker async throws in
            let body = Requests.exchangeBody
            let head =
                "POST /token HTTP/1.1\r\nHost: a\(space)\r\n"
                + "Content-Type: application/x-www-form-urlencoded\(space)\r\n"
            let length = "Content-Length: \(body.utf8.count)"
            let basic = Requests.basic("app-two:") + space
            for request in [
                head + "\(length)\r\n\r\n" + body, head + "\(length)\r\n\(basic)\r\n\r\n" + body,
                head + "Connection: close\(space)\r\n\(length)\r\n\r\n" + body,
            ] {
                #expect(try await broker.answer(request)?.status == 200)
            }
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send(head + "\(length)\r\nExpect: 100-continue\(space)\r\n\r\n")
                #expect(try await client.answer(hasBody: false)?.status == 100)
                try await client.send(body)
                #expect(try await client.answer()?.status == 200)
            }
        }
    }

    /// Two readings of a body's end give two readings of the octets after it.
    @Test(
        "A space after a length or coding is ignored; a tab ends the connection",
        arguments: [" ", "  ", "\t", " \t"])
    func framingWithWhitespace(space: String) async throws {
        let inner = Requests.post("grant_type=password", target: "/smuggled")
        let form = "grant_type=password&x=" + inner
        let head =
            "POST /token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        let chunk = String(form.utf8.count, radix: 16) + "\r\n" + form + "\r\n0\r\n\r\n"
        for request in [
            head + "Content-Length: \(form.utf8.count)\(space)\r\n\r\n" + form,
            head + "Transfer-Encoding: chunked\(space)\r\n\r\n" + chunk,
        ] {
            try await TestBroker.run { broker async throws in
                try await RawClient.connect(to: broker.ports.public) { client async throws in
                    await client.trySend(request + Requests.post(Requests.exchange))
                    let first = try #require(await client.lastAnswer())
                    #expect(first.status == 400)
                    if space.contains("\t") {
                        #expect(first.closes)
                        #expect(broker.log.requests.map { $0.string("reason") } == ["http_malformed"])
                    } else {
                        #expect(!first.closes)
                        #expect(await client.lastAnswer()?.status == 200)
                        #expect(broker.log.requests.count == 2)
                    }
                }
                #expect(!broker.log.requests.contains { $0.string("reason") == "http_unknown_path" })
            }
        }
        // The length is still enforced.
        try await TestBroker.expectRefusal(
            head + "Content-Length: 65537 \r\n\r\n", status: 413, reason: "http_body_too_large")
        try await TestBroker.expectRefusal(
            head + "Content-Length: 5 \r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n" + inner, status: 400,
            reason: "http_malformed")
    }

    @Test("In HTTP/1.0 an expectation is ignored, RFC 9110 §10.1.1", arguments: ["100-continue", "the worst"])
    func expectationOfHTTP10(expectation: String) async throws {
        let request = Requests.post(Requests.exchange, headers: ["Expect: \(expectation)"])
            .replacing("HTTP/1.1", with: "HTTP/1.0")
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.answer(request))
            #expect(answer.status == 200 && answer.closes)
        }
    }

    @Test("H-15 a target over 8 KiB is refused, also one beyond the header limit", arguments: [8192, 65_536])
    func targetSize(size: Int) async throws {
        let target = String(repeating: "a", count: size)
        try await TestBroker.expectRefusal(
            "POST /\(target) HTTP/1.1\r\nHost: a\r\n\r\n", status: 414, reason: "http_target_too_long")
    }

    @Test("H-15 a header is refused for one large field, its total size or its field count")
    func headerSize() async throws {
        let huge = String(repeating: "a", count: 65_536)
        let many = (0..<65).map { "X-\($0): a" }.joined(separator: "\r\n")
        let total = (0..<4).map { "X-\($0): \(huge)" }.joined(separator: "\r\n")
        for request in [
            "POST /token HTTP/1.1\r\nHost: a\r\nAuthorization: \(huge)\r\n\r\n",
            "POST /token HTTP/1.1\r\nHost: a\r\n\(many)\r\n\r\n", "POST /token HTTP/1.1\r\nHost: a\r\n\(total)\r\n\r\n",
        ] {
            try await TestBroker.expectRefusal(request, status: 431, reason: "http_header_too_large")
        }
    }

    @Test("64 fields are accepted")
    func headerFields() async throws {
        let fields = (0..<61).map { "X-\($0): a" }  // and Host, Content-Type, Content-Length
        try await TestBroker.run { broker async throws in
            #expect(try await broker.answer(Requests.exchange, headers: fields)?.status == 200)
        }
    }

    @Test("A body of 64 KiB is read, and one octet more is refused")
    func bodySize() async throws {
        let full =
            Requests.exchangeBody + "&" + String(repeating: "&", count: 65_536 - Requests.exchangeBody.utf8.count - 1)
        try await TestBroker.run { broker async throws in
            #expect(try await broker.answer(Requests.post(full))?.status == 200)
        }
        try await TestBroker.expectRefusal(Requests.post(full + "&"), status: 413, reason: "http_body_too_large")
        // The same without a length: the size shows only as chunks arrive.
        let chunk = "8000\r\n" + String(repeating: "&", count: 32_768) + "\r\n"
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk
                + "1\r\n&\r\n0\r\n\r\n",
            status: 413, reason: "http_body_too_large")
    }

    @Test("Mutated requests never crash the broker")
    func mutations() async throws {
        var random = SeededRandom(seed: 20_261_118)
        try await TestBroker.run { broker async throws in
            let good = Array(Requests.post(Requests.exchange).utf8)
            for _ in 0..<300 {
                var octets = good
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let index = Int.random(in: 0..<octets.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: octets[index] = UInt8.random(in: 0...255, using: &random)
                    case 1: octets.remove(at: index)
                    default: octets.insert(contentsOf: octets[index..<min(index + 9, octets.count)], at: index)
                    }
                }
                try await RawClient.connect(to: broker.ports.public) { client async throws in
                    try? await client.send(octets)
                    client.finish()
                    if let answer = await client.lastAnswer() { #expect(answer.status < 500) }
                }
            }
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
        }
    }
}
