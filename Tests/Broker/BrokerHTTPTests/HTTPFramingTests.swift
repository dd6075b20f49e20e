@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NativeSSO
import RegistryConformance
import StrictCoding
import Testing

@Suite("HTTP that is malformed, ambiguous or too large, and what ends a connection", .timeLimit(.minutes(1)))
struct HTTPFramingTests {
    private static let head = "POST /token HTTP/1.1\r\nHost: a\r\n"

    @Test(
        "Nothing of the message or of what follows it is run",
        arguments: [
            (head + "X-A: a\r\n\tb\r\nContent-Length: 0\r\n\r\n", 400, "http_malformed"),
            ("POST /token HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "http_malformed"),
            ("POST /token HTTP/1.1\r\nHost: \r\nContent-Length: 0\r\n\r\n", 400, "http_host"),
            (head + "Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n", 413, "http_body_too_large"),
            // Beyond the limit of all header fields together.
            (
                "POST /\(String(repeating: "a", count: 65_536)) HTTP/1.1\r\nHost: a\r\n\r\n", 414,
                "http_target_too_long"
            ),
        ])
    func refused(octets: String, status: Int, reason: String) async throws {
        try await TestBroker.expectRefusal(octets, status: status, reason: reason)
    }

    @Test("A body that says it is not encoded is refused like an encoded one")
    func contentEncoding() async throws {
        try await TestBroker.expectRefusal(
            Requests.post(Requests.exchange, headers: ["Content-Encoding: identity"]), status: 400,
            reason: "http_content_encoding", closes: false)
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
        let head = Self.head + "Content-Type: application/x-www-form-urlencoded\r\n"
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

    @Test("Connection: close and HTTP/1.0 end the connection; later requests are not run")
    func close() async throws {
        try await TestBroker.run { broker async throws in
            let good = Requests.post(Requests.exchange)
            for request in [
                Requests.post(Requests.exchange, headers: ["Connection: close"]),
                good.replacing("HTTP/1.1\r\nHost: sso.example.com", with: "HTTP/1.0"),
            ] {
                try await RawClient.connect(to: broker.ports.public) { client async throws in
                    try await client.send(request + good)
                    let answer = try #require(try await client.answer())
                    #expect(answer.status == 200)
                    #expect(answer.closes)
                    #expect(await client.lastAnswer() == nil)
                }
            }
            #expect(broker.domain.registry.admissions.count == 2)
        }
    }

    @Test("A client that closes its side early still gets its answer")
    func halfClose() async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send(Requests.post(Requests.exchange))
                client.finish()
                #expect(try await client.answer()?.status == 200)
                #expect(try await client.answer() == nil)
            }
        }
    }
}
