@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite("Several requests on one connection", .timeLimit(.minutes(1)))
struct HTTPConnectionTests {
    @Test("H-29 a request behind a malformed one in the same segment is not run")
    func pipelining() async throws {
        try await TestBroker.expectRefusal(
            "POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n" + Requests.post(Requests.exchange),
            status: 400,
            reason: "http_malformed")
    }

    @Test("Pipelined requests are answered in order, up to the first malformed one")
    func pipelinedInOrder() async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                let good = Requests.post(Requests.exchange)
                try await client.send(good + Requests.post("x=1") + good + "BAD\r\n\r\n" + good)
                #expect(try await client.answer()?.status == 200)
                #expect(try await client.answer()?.error == "invalid_request")
                #expect(try await client.answer()?.status == 200)
                let last = try #require(try await client.answer())
                #expect(last.status == 400)
                #expect(last.closes)
                client.finish()
                #expect(await client.lastAnswer() == nil)
            }
            #expect(broker.domain.registry.admissions.count == 2)
        }
    }

    @Test("A refused request leaves the connection usable")
    func keepAlive() async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                for _ in 0..<3 {
                    try await client.send(Requests.post("grant_type=password"))
                    let refused = try #require(try await client.answer())
                    #expect(refused.error == "unsupported_grant_type")
                    #expect(!refused.closes)
                    try await client.send(Requests.post(Requests.exchange))
                    #expect(try await client.answer()?.status == 200)
                }
            }
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

    @Test("Expect: 100-continue is granted before the body, and refused for a body that is too large")
    func expectation() async throws {
        try await TestBroker.run { broker async throws in
            let request = Requests.post(Requests.exchange, headers: ["Expect: 100-continue"])
            let parts = request.split(separator: "\r\n\r\n")
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send("\(parts[0])\r\n\r\n")
                #expect(try await client.answer()?.status == 100)
                try await client.send(String(parts[1]))
                #expect(try await client.answer()?.status == 200)
            }
            let large = "POST /token HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n"
            #expect(try await broker.answer(large)?.status == 413)
            let other = "POST /token HTTP/1.1\r\nHost: a\r\nExpect: the worst\r\nContent-Length: 1\r\n\r\nx"
            #expect(try await broker.answer(other)?.status == 417)
        }
    }

    @Test("The broker ignores an upgrade and ends the connection after the answer")
    func upgrade() async throws {
        try await TestBroker.run { broker async throws in
            let headers = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"]
            let answer = try #require(try await broker.answer(Requests.exchange, headers: headers))
            #expect(answer.status == 200)
            #expect(answer.closes)
        }
    }
}
