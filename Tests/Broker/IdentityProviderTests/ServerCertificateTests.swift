import BrokerTesting
import IdentityProvider
import NativeSSO
import Testing

@Suite("The certificates that a server shows", .timeLimit(.minutes(1)))
struct ServerCertificateTests {
    private func url(_ server: StubServer) throws -> ProviderURL {
        try #require(ProviderURL("https://127.0.0.1:\(server.port)/jwks"))
    }

    /// The certificate is signed by itself, and may have expired.
    @Test(arguments: [1_000_000_000, 2_000_000_000] as [Int64])
    func `their end is read, trusted or not`(end: Int64) async throws {
        let shown = try TestCertificate(notBefore: UnixTime(seconds: 900_000_000), notAfter: UnixTime(seconds: end))
        try await StubServer.with({ _ in .ok("") }, certificate: shown) { server in
            let found = await ServerCertificate.end(at: try url(server))
            #expect(found == UnixTime(seconds: end))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a server without TLS, and none at all, show nothing`() async throws {
        try await StubServer.with({ _ in .hang() }) { server in
            let silent = await ServerCertificate.end(at: try url(server), within: .milliseconds(200))
            #expect(silent == nil)
            let plain = try #require(ProviderURL(server.url("/jwks"), allowsLoopbackHTTP: true))
            #expect(await ServerCertificate.end(at: plain) == nil)
        }
        let away = try #require(ProviderURL("https://127.0.0.1:1/jwks"))
        #expect(await ServerCertificate.end(at: away) == nil)
    }
}
