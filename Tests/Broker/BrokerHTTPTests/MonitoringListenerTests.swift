import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOSSL
import Testing

@Suite("TLS of the internal listener, and the metrics listener", .timeLimit(.minutes(1)))
struct MonitoringListenerTests {
    @Test("A client without a certificate of the authority gets no answer")
    func clientCertificates() async throws {
        let (server, client, stranger) = (
            try TestCertificate.current(), try TestCertificate.current(), try TestCertificate.current()
        )
        let identity = try TLSIdentity(
            certificates: Array(server.certificate.utf8), key: Array(server.key.utf8),
            clientAuthorities: Array(client.certificate.utf8))
        let options = TestBroker.Options(internalIdentity: CurrentTLSIdentity(identity))
        try await TestBroker.run(options) { broker async throws in
            func status(_ tls: NIOSSLContext?) async throws -> Int? {
                try await RawClient.connect(to: broker.ports.internal, tls: tls) { client async throws in
                    await client.trySend(Requests.get("/livez"))
                    return await client.lastAnswer()?.status
                }
            }
            #expect(try await status(server.client(showing: client)) == 200)
            #expect(try await status(server.client(showing: stranger)) == nil)
            #expect(try await status(server.client()) == nil)
            #expect(try await status(nil) == nil)
        }
    }

    @Test("A metrics listener has metrics and health alone, and the internal one has no metrics then")
    func ownAddress() async throws {
        try await TestBroker.run(TestBroker.Options(movesMetrics: true)) { broker async throws in
            let port = try #require(broker.ports.metrics)
            func status(_ path: String) async throws -> Int? {
                try await RawClient.connect(to: port) { client async throws in
                    await client.trySend(Requests.get(path))
                    return try await client.answer()?.status
                }
            }
            for path in ["/metrics", "/livez", "/readyz"] { #expect(try await status(path) == 200, "\(path)") }
            for path in ["/.well-known/jwks.json", "/.well-known/openid-configuration", "/backchannel-logout"] {
                #expect(try await status(path) == 404, "\(path)")
            }
            #expect(try await broker.internalAnswer(Requests.get("/metrics"))?.status == 404)
            #expect(try await broker.internalAnswer(Requests.get("/readyz"))?.status == 200)
        }
    }
}
