@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("HTTP requests that are not for the token endpoint", .timeLimit(.minutes(1)))
struct HTTPRequestTests {
    @Test(
        "H-02, H-03 other methods are refused",
        arguments: ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"])
    func methods(method: String) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.answer(Requests.post(Requests.exchangeBody, method: method)))
            #expect(answer.status == 405)
            #expect(answer.values("allow") == ["POST"])
            #expect(answer.error == "invalid_request")
            #expect(!answer.closes)
        }
    }

    @Test(
        "H-02 a method unknown to the parser gets 405 too",
        arguments: ["FOO", "post", "POSTX", "Post", "M-SEARCHES", "P"])
    func unknownMethods(method: String) async throws {
        try await TestBroker.expectRefusal(
            Requests.post(Requests.exchangeBody, method: method), status: 405, reason: "http_method_unknown")
        try await TestBroker.run { broker async throws in
            let request = Requests.post(Requests.exchangeBody, method: method)
            #expect(try await broker.answer(request)?.values("allow") == ["POST"])
            #expect(try await broker.internalAnswer(request)?.values("allow") == ["GET, HEAD, POST"])
        }
    }

    @Test("H-02 HEAD gets a 405 without a body, and the connection continues")
    func head() async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send("HEAD /token HTTP/1.1\r\nHost: a\r\n\r\n" + Requests.post(Requests.exchange))
                // The client would read a body as the beginning of the second answer.
                #expect(try await client.answer(hasBody: false)?.status == 405)
                #expect(try await client.answer()?.status == 200)
            }
        }
    }

    @Test(
        "H-07 other paths get 404",
        arguments: [
            "/", "/token/", "/token/../metrics", "//token", "/token%2f", "/%74oken", "/Token", "/token;a", "/token#x",
            "/.well-known/jwks.json", "/metrics", "/livez", "/t\u{F6}ken", "/token%00", "/metrics?/token",
        ])
    func paths(target: String) async throws {
        try await TestBroker.run { broker async throws in
            for method in ["POST", "GET"] {
                let answer = try #require(
                    try await broker.answer(Requests.post(Requests.exchangeBody, target: target, method: method)))
                // The parser answers an invalid target with 400.
                #expect([404, 400].contains(answer.status))
                if target.utf8.allSatisfy({ $0 < 0x80 }), !target.contains("#") { #expect(answer.status == 404) }
                #expect(answer.error == "invalid_request")
            }
            #expect(broker.domain.registry.admissions.isEmpty)
        }
    }

    @Test(
        "H-06 a query string is refused, even an empty one",
        arguments: ["/token?grant_type=x", "/token?", "/token?client_secret=canary"])
    func query(target: String) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.answer(Requests.post(Requests.exchangeBody, target: target)))
            #expect(answer.status == 400)
            #expect(answer.error == "invalid_request")
            #expect(broker.log.requests.first?.string("reason") == "http_query")
            #expect(!broker.log.all.contains("canary"))
        }
    }

    @Test(
        "H-08 targets for a proxy are refused",
        arguments: [
            "POST http://internal-host/token HTTP/1.1", "POST http:///token HTTP/1.1", "OPTIONS * HTTP/1.1",
            "CONNECT 127.0.0.1:5432 HTTP/1.1", "POST https://sso.example.com/token HTTP/1.1",
        ])
    func targetForms(requestLine: String) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.answer("\(requestLine)\r\nHost: a\r\nContent-Length: 0\r\n\r\n"))
            #expect(answer.status == 400)
            #expect(answer.closes)
        }
    }

    @Test(
        "H-23 only the form content type is accepted",
        arguments: [
            (nil, 400), ("application/json", 400), ("multipart/form-data; boundary=x", 400), ("text/plain", 400),
            ("application/x-www-form-urlencoded; charset=iso-8859-1", 400),
            ("application/x-www-form-urlencoded; charset=utf-8; charset=utf-8", 400),
            ("application/x-www-form-urlencoded;", 400), ("application/x-www-form-urlencoded, text/plain", 400),
            ("application/x-www-form-urlencoded\r\nContent-Type: application/x-www-form-urlencoded", 400),
            ("application/x-www-form-urlencoded-x", 400),
            ("application/x-www-form-urlencoded; charset=UTF-8", 200),
            ("Application/X-WWW-Form-Urlencoded ; Charset=\"utf-8\"", 200),
            ("application/x-www-form-urlencoded;charset=utf-8", 200),
        ] as [(String?, Int)])
    func contentTypes(type: String?, status: Int) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.answer(Requests.post(Requests.exchangeBody, contentType: type)))
            #expect(answer.status == status)
            if status == 400 {
                #expect(answer.error == "invalid_request")
                #expect(broker.log.requests.first?.string("reason") == "http_content_type")
            }
        }
    }

    @Test("An encoded body is refused", arguments: ["gzip", "identity", "br"])
    func contentEncoding(coding: String) async throws {
        try await TestBroker.expectRefusal(
            Requests.post(Requests.exchange, headers: ["Content-Encoding: \(coding)"]), status: 400,
            reason: "http_content_encoding", closes: false)
    }

    @Test(
        "H-28 a malformed Host is refused",
        arguments: [
            "a b", "user@host", "a/b", "[::1", "::1", "[::1]a", "[127.0.0.1]", "host:99999", "host:1a", "host:-1", "",
            "a%zz", "a\"b", "a,b c", "http://a",
        ])
    func notAHost(host: String) async throws {
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 0\r\n\r\n", status: 400, reason: "http_host")
    }

    @Test("H-28 two Hosts or none end the connection; any single valid Host is accepted")
    func hosts() async throws {
        let rest = "Content-Length: 0\r\n\r\n"
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nHost: a\r\n" + rest, status: 400, reason: "http_host")
        try await TestBroker.expectRefusal("POST /token HTTP/1.1\r\n" + rest, status: 400, reason: "http_host")
        try await TestBroker.run { broker async throws in
            let request = Requests.post(Requests.exchange).replacing("sso.example.com", with: "evil.example")
            let answer = try #require(try await broker.answer(request))
            #expect(answer.status == 200)
            #expect(!answer.text.contains("evil"))
        }
    }
}
