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

    @Test("TLS 1.2 and 1.3 are spoken", arguments: [TLSVersion.tlsv12, .tlsv13])
    func versions(_ version: TLSVersion) async throws {
        try await withBroker { broker, certificate, _ async throws in
            let tls = try certificate.client(from: version, to: version)
            try await RawClient.connect(to: broker.ports.public, tls: tls) { client async throws in
                for _ in 0..<2 {
                    try await client.send(Requests.post(Requests.exchange))
                    #expect(try await client.answer()?.status == 200)
                }
                client.finish()
                #expect(try await client.answer() == nil)
            }
        }
    }

    @Test("Older TLS and plain HTTP are refused and counted")
    func older() async throws {
        try await withBroker { broker, certificate, _ async throws in
            let tls = try certificate.client(from: .tlsv1, to: .tlsv11)
            try await RawClient.connect(to: broker.ports.public, tls: tls) { client async throws in
                #expect(await client.octets() == nil)
            }
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                await client.trySend(Requests.post(Requests.exchange))
                #expect(await client.lastAnswer() == nil)
            }
            #expect(broker.metrics.text.contains("native_sso_tls_handshakes_failed_total 2\n"))
            #expect(broker.log.requests.isEmpty)
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

    @Test("Slow headers and bodies get an answer over TLS too")
    func slowRequests() async throws {
        let limits = ListenerLimits(headerTimeout: .milliseconds(300), bodyTimeout: .milliseconds(300))
        try await withBroker(limits) { broker, certificate, _ async throws in
            let request = Requests.post(Requests.exchange)
            for part in [String(request.prefix(20)), String(request.dropLast(1))] {
                try await RawClient.connect(to: broker.ports.public, tls: try certificate.client()) {
                    client async throws in
                    try await client.send(part)
                    let answer = try #require(try await client.answer())
                    #expect(answer.status == 408)
                    #expect(answer.closes)
                    #expect(try await client.answer() == nil)
                }
            }
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

    @Test("Certificate and key must be valid and match")
    func defects() throws {
        let (one, other) = (try TestCertificate.current(), try TestCertificate.current())
        func defect(_ certificate: String, _ key: String) -> TLSIdentity.Defect? {
            do throws(TLSIdentity.Defect) {
                _ = try TLSIdentity(certificates: Array(certificate.utf8), key: Array(key.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(defect(one.certificate, one.key) == nil)
        #expect(defect(one.certificate + other.certificate, one.key) == nil)
        #expect(defect(one.certificate, other.key) == .mismatch)
        #expect(defect(other.certificate + one.certificate, one.key) == .mismatch)
        #expect(defect("", one.key) == .certificate)
        #expect(defect(one.key, one.key) == .certificate)
        #expect(defect(one.certificate.replacing("M", with: "!"), one.key) == .certificate)
        #expect(defect(one.certificate, "") == .key)
        #expect(defect(one.certificate, one.certificate) == .key)
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
