@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import NIOSSL
import NativeSSO
import Testing

@Suite("TLS", .timeLimit(.minutes(1)))
struct TLSTests {
    private static let now = UnixTime(seconds: 1_790_000_000)

    private func withBroker(
        _ limits: ListenerLimits = ListenerLimits(),
        _ body: (TestBroker, TestCertificate, CurrentTLSIdentity) async throws -> Void
    ) async throws {
        let certificate = try TestCertificate.current()
        let identity = try CurrentTLSIdentity(certificate)
        try await TestBroker.run(TestBroker.Options(limits: limits, identity: identity)) { broker async throws in
            try await body(broker, certificate, identity)
        }
    }

    @Test("A connection whose address may begin no handshake is closed before one, and counted")
    func refusedHandshake() async throws {
        let certificate = try TestCertificate.current()
        var options = TestBroker.Options(identity: try CurrentTLSIdentity(certificate))
        let refused = ClientAddress(try #require(NetworkAddress("127.0.0.2")))
        options.admitsHandshake = { $0 != refused }
        try await TestBroker.run(options) { broker async throws in
            try await RawClient.connect(to: broker.ports.public, from: "127.0.0.2") { client async throws in
                await client.trySend("\u{16}")
                #expect(await client.octets() == nil)
            }
            #expect(broker.metrics.text.contains("native_sso_tls_handshakes_refused_total 1\n"))
            #expect(broker.metrics.text.contains("native_sso_tls_handshakes_failed_total 0\n"))
            try await RawClient.connect(to: broker.ports.public, tls: try certificate.client()) {
                client async throws in
                try await client.send(Requests.post(Requests.exchange))
                #expect(try await client.answer()?.status == 200)
            }
        }
    }

    @Test("A handshake is cut off at the header timeout")
    func slowHandshake() async throws {
        try await withBroker(ListenerLimits(headerTimeout: .milliseconds(50))) { broker, _, _ async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send([0x16, 3, 1])
                #expect(await client.octets() == nil)
            }
            #expect(broker.metrics.text.contains("native_sso_tls_handshakes_failed_total 1\n"))
        }
    }

    @Test("A new certificate serves new connections; existing ones continue")
    func replacement() async throws {
        try await withBroker { broker, old, identity async throws in
            let new = try TestCertificate.current()
            try await RawClient.connect(to: broker.ports.public, tls: try old.client()) { before async throws in
                try await before.send(Requests.post("x=1"))
                #expect(try await before.answer()?.status == 400)
                identity.replace(by: try TLSIdentity(new))
                try await RawClient.connect(to: broker.ports.public, tls: try new.client()) { after async throws in
                    try await after.send(Requests.post(Requests.exchange))
                    #expect(try await after.answer()?.status == 200)
                }
                try await before.send(Requests.post(Requests.exchange))
                #expect(try await before.answer()?.status == 200)
            }
            try await RawClient.connect(to: broker.ports.public, tls: try old.client()) { client async throws in
                #expect(await client.octets() == nil)
            }
        }
    }

    @Test("A stop sends close_notify to idle connections and answers open requests")
    func stop() async throws {
        try await withBroker { broker, certificate, _ async throws in
            let tls = try certificate.client()
            try await RawClient.connect(to: broker.ports.public, tls: tls) { idle async throws in
                try await RawClient.connect(to: broker.ports.public, tls: tls) { half async throws in
                    try await idle.send(Requests.post("x=1"))
                    #expect(try await idle.answer()?.status == 400)
                    let request = Requests.post(Requests.exchange)
                    try await half.send(Requests.post("x=1") + request.dropLast(1))
                    #expect(try await half.answer()?.status == 400)
                    await broker.stop()
                    #expect(try await idle.answer() == nil)
                    try await half.send(String(request.suffix(1)))
                    let answer = try #require(try await half.answer())
                    #expect(answer.status == 200 && answer.closes)
                }
            }
        }
    }

    @Test("The key belongs to the first certificate of the chain")
    func chain() throws {
        let (one, other) = (try TestCertificate.current(), try TestCertificate.current())
        func identity(_ certificates: String) throws -> TLSIdentity {
            try TLSIdentity(certificates: Array(certificates.utf8), key: Array(one.key.utf8))
        }
        #expect(throws: Never.self) { try identity(one.certificate + other.certificate) }
        #expect(throws: TLSIdentity.Defect.mismatch) { try identity(other.certificate + one.certificate) }
    }

    @Test("The identity reports its expiry")
    func validity() throws {
        let identity = try TLSIdentity(
            try TestCertificate(notBefore: Self.now, notAfter: Self.now.adding(.days(90))))
        #expect(identity.notBefore == Self.now.seconds)
        #expect(identity.notAfter == Self.now.adding(.days(90)).seconds)
        #expect(
            CertificateExpiry([CurrentTLSIdentity(identity)]).samples.map(\.value) == [
                Double(Self.now.adding(.days(90)).seconds)
            ])
    }
}
