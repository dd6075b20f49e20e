import BrokerTesting
import Foundation
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// Fetches from a real server that misbehaves.
@Suite struct KeySetFetcherTests {
    private func fetch(
        _ source: KeySource, timeout: Duration = .seconds(30), authorities: CertificateAuthorities? = nil
    ) async throws -> Result<JSONWebKeySet, KeySetFetchError> {
        let documents = DocumentClient(timeout: timeout, authorities: authorities)
        let fetcher = KeySetFetcher(
            issuer: TestProvider.issuer, source: source, documents: documents, allowsLoopbackHTTP: true)
        let result: Result<JSONWebKeySet, KeySetFetchError>
        do throws(KeySetFetchError) {
            result = .success(try await fetcher.fetch().keys)
        } catch {
            result = .failure(error)
        }
        try await documents.shutdown()
        return result
    }

    private func fetch(
        answered reply: StubServer.Reply, timeout: Duration = .seconds(30)
    ) async throws -> Result<JSONWebKeySet, KeySetFetchError> {
        var result: Result<JSONWebKeySet, KeySetFetchError> = .failure(.timedOut)
        try await StubServer.with({ _ in reply }) { server in
            let url = try #require(ProviderURL(server.url("/jwks"), allowsLoopbackHTTP: true))
            result = try await fetch(.keySet(url), timeout: timeout)
            #expect(server.paths == ["/jwks"])
        }
        return result
    }

    private static let keySet = Result { try TestKey.document([try TestKey.shared(.es256)]) }

    /// Over real TLS: a configured CA must have signed the certificate, and it must name the host.
    @Test func authorities() async throws {
        let (own, other) = (try TestCertificate.current(), try TestCertificate.current())
        var seconds = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        seconds = seconds.adding(-3600)
        let elsewhere = try TestCertificate(
            address: [127, 0, 0, 9], notBefore: seconds, notAfter: seconds.adding(.days(1)))
        let expired = try TestCertificate(notBefore: seconds.adding(.days(-2)), notAfter: seconds)
        for (shown, trusted, isTaken) in [
            (own, own, true), (own, other, false), (own, nil, false), (elsewhere, elsewhere, false),
            (expired, expired, false),
        ] {
            try await StubServer.with({ _ in .ok((try? Self.keySet.get()) ?? []) }, certificate: shown) { server in
                let url = try #require(ProviderURL("https://127.0.0.1:\(server.port)/jwks"))
                let authorities = try trusted.map {
                    try #require(CertificateAuthorities(pem: Array($0.certificate.utf8)))
                }
                let result = try await fetch(.keySet(url), authorities: authorities)
                if isTaken {
                    #expect(try result.get().keys.count == 1)
                } else {
                    #expect(result == .failure(.untrustedCertificate))
                    #expect(server.paths.isEmpty)
                }
            }
        }
        #expect(CertificateAuthorities(pem: Array(own.key.utf8)) == nil)
        #expect(CertificateAuthorities(pem: []) == nil)
    }

    @Test func goodKeySet() async throws {
        let document = try Self.keySet.get()
        #expect(try await fetch(answered: .ok(document)).get().keys == [try TestKey.shared(.es256).publicKey])
        let plain = StubServer.Reply.status(200, headers: ["Content-Type: text/plain"], body: document)
        #expect(try await fetch(answered: plain).get().keys.count == 1)
    }

    // W-06
    @Test(arguments: [
        ("<html>maintenance</html>", JSONWebKeySetError.notJSON(.unexpectedByte(offset: 0))),
        (#"{"keys":[{"kty""#, .notJSON(.unexpectedEnd)), ("{}", .noKeys), (#"{"keys":null}"#, .noKeys),
        (#"{"keys":{}}"#, .noKeys),
        (#"{"keys":[]}"#, .noUsableKey), ("", .notJSON(.unexpectedEnd)),
    ])
    func garbage(body: String, error: JSONWebKeySetError) async throws {
        #expect(try await fetch(answered: .ok(body)) == .failure(.keySet(error)))
    }

    @Test(arguments: [204, 400, 401, 404, 500, 503])
    func otherStatus(code: Int) async throws {
        #expect(try await fetch(answered: .status(code, body: try Self.keySet.get())) == .failure(.status(code)))
    }

    // W-07
    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectsAreNotFollowed(code: Int) async throws {
        try await StubServer.with({ _ in .ok("{}") }) { (victim) async throws in
            let reply = StubServer.Reply.status(code, headers: ["Location: \(victim.url("/internal"))"])
            #expect(try await fetch(answered: reply) == .failure(.redirected))
            #expect(victim.paths.isEmpty)
        }
        #expect(
            try await fetch(answered: .status(code, headers: ["Location: file:///etc/passwd"])) == .failure(.redirected)
        )
    }

    // W-06: the client never inflates a gzip bomb. Without its header the bomb is not JSON.
    @Test func compressedBodies() async throws {
        let bomb: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0, count: 1000)
        let labelled = StubServer.Reply.status(200, headers: ["Content-Encoding: gzip"], body: bomb)
        #expect(try await fetch(answered: labelled) == .failure(.encoded))
        #expect(try await fetch(answered: .ok(bomb)) == .failure(.keySet(.notJSON(.unexpectedByte(offset: 0)))))
    }

    @Test func largeBodies() async throws {
        let allowed = [UInt8](repeating: UInt8(ascii: " "), count: (256 << 10) - (try Self.keySet.get().count))
        #expect(try await fetch(answered: .ok(allowed + (try Self.keySet.get()))).get().keys.count == 1)
        #expect(try await fetch(answered: .ok(allowed + [0x20] + (try Self.keySet.get()))) == .failure(.tooLarge))
        let announced = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
        #expect(try await fetch(answered: .hang(after: Array(announced.utf8))) == .failure(.tooLarge))
    }

    @Test func endlessBodyIsCutOff() async throws {
        try await StubServer.with({ _ in .endless }) { server in
            let url = try #require(ProviderURL(server.url("/jwks"), allowsLoopbackHTTP: true))
            #expect(try await fetch(.keySet(url)) == .failure(.tooLarge))
            await server.connectionClosed()
            #expect(server.octetsTaken < 64 << 20)
        }
    }

    // W-03: before the head, within it, and within the body.
    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":",
    ])
    func hanging(sent: String) async throws {
        try await StubServer.with({ _ in .hang(after: Array(sent.utf8)) }) { server in
            let url = try #require(ProviderURL(server.url("/jwks"), allowsLoopbackHTTP: true))
            let result = try await fetch(.keySet(url), timeout: .seconds(1))
            #expect(result == .failure(.timedOut))
        }
    }

    @Test func brokenOff() async throws {
        for octets in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":", "nonsense\r\n\r\n"] {
            guard case .failure(.unreachable) = try await fetch(answered: .octets(Array(octets.utf8))) else {
                Issue.record("taken for an answer: \(octets)")
                return
            }
        }
    }

    // W-01
    @Test func noServerThere() async throws {
        let server = try await StubServer.start { _ in .ok("") }
        let refused = try #require(ProviderURL(server.url("/jwks"), allowsLoopbackHTTP: true))
        let plain = try #require(ProviderURL("https://127.0.0.1:\(server.port)/jwks"))
        let unnamed = try #require(ProviderURL("https://idp.invalid/jwks"))
        guard case .failure = try await fetch(.keySet(plain), timeout: .seconds(1)) else {
            Issue.record("no TLS, and yet an answer")
            return
        }
        try await server.stop()
        for url in [refused, unnamed] {
            guard case .failure = try await fetch(.keySet(url), timeout: .seconds(1)) else {
                Issue.record("an answer from nobody")
                return
            }
        }
    }

    @Test func discovery() async throws {
        let document = try Self.keySet.get()
        let server = try await StubServer.start { path in
            switch path {
            case "/good":
                // The test does not know the port in advance, so it names the key set by a path on a fixed host.
                .ok(#"{"issuer":"https://idp.example.com","jwks_uri":"http://127.0.0.1:1/jwks"}"#)
            case "/other-issuer": .ok(#"{"issuer":"https://evil.example","jwks_uri":"http://127.0.0.1:1/jwks"}"#)
            case "/other-host": .ok(#"{"issuer":"https://idp.example.com","jwks_uri":"https://evil.example/jwks"}"#)
            case "/not-https": .ok(#"{"issuer":"https://idp.example.com","jwks_uri":"http://evil.example/jwks"}"#)
            case "/jwks": .ok(document)
            default: .status(404)
            }
        }
        func source(_ path: String) throws -> KeySource {
            .discovery(try #require(ProviderURL(server.url(path), allowsLoopbackHTTP: true)))
        }
        #expect(try await fetch(source("/other-issuer")) == .failure(.metadata(.issuerMismatch)))
        #expect(try await fetch(source("/other-host")) == .failure(.metadata(.foreignKeySetHost)))
        #expect(try await fetch(source("/not-https")) == .failure(.metadata(.badKeySetURL)))
        #expect(try await fetch(source("/missing")) == .failure(.status(404)))
        #expect(server.paths == ["/other-issuer", "/other-host", "/not-https", "/missing"])
        guard case .failure(.unreachable) = try await fetch(source("/good")) else {
            Issue.record("jwks_uri was not used")
            return
        }
        try await server.stop()
    }

    @Test func discoveryThenKeySet() async throws {
        let document = try Self.keySet.get()
        let keys = try await StubServer.start { _ in .ok(document) }
        let metadata = #"{"issuer":"https://idp.example.com","jwks_uri":"\#(keys.url("/jwks"))"}"#
        try await StubServer.with({ _ in .ok(metadata) }) { server in
            let url = try #require(ProviderURL(server.url("/discovery"), allowsLoopbackHTTP: true))
            #expect(try await fetch(.discovery(url)).get().keys.count == 1)
            #expect(keys.paths == ["/jwks"])
        }
        try await keys.stop()
    }

    @Test func files() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await fetch(.file(path: file.path)) == .failure(.unreadableFile))
        try Data(try Self.keySet.get()).write(to: file)
        #expect(try await fetch(.file(path: file.path)).get().keys.count == 1)
        try FileManager.default.setAttributes([.posixPermissions: 0o646], ofItemAtPath: file.path)
        #expect(try await fetch(.file(path: file.path)) == .failure(.unreadableFile))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        try Data(count: (256 << 10) + 1).write(to: file)
        #expect(try await fetch(.file(path: file.path)) == .failure(.tooLarge))
        try Data("{}".utf8).write(to: file)
        #expect(try await fetch(.file(path: file.path)) == .failure(.keySet(.noKeys)))
        #expect(try await fetch(.file(path: FileManager.default.temporaryDirectory.path)) == .failure(.unreadableFile))
    }
}
