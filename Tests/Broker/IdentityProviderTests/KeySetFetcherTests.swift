import BrokerTesting
import Foundation
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// Fetches from a real server that misbehaves.
@Suite struct KeySetFetcherTests {
    private func fetched(
        _ source: KeySource, timeout: Duration = .seconds(30), authorities: CertificateAuthorities? = nil
    ) async throws -> Result<FetchedKeySet, KeySetFetchError> {
        let documents = DocumentClient(timeout: timeout, authorities: authorities)
        let fetcher = KeySetFetcher(
            issuer: TestProvider.issuer, source: source, documents: documents, allowsLoopbackHTTP: true)
        let result: Result<FetchedKeySet, KeySetFetchError>
        do throws(KeySetFetchError) {
            result = .success(try await fetcher.fetch())
        } catch {
            result = .failure(error)
        }
        try await documents.shutdown()
        return result
    }

    private func fetch(
        _ source: KeySource, timeout: Duration = .seconds(30), authorities: CertificateAuthorities? = nil
    ) async throws -> Result<JSONWebKeySet, KeySetFetchError> {
        try await fetched(source, timeout: timeout, authorities: authorities).map(\.keys)
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

    @Test func aTypeIsNotAskedFor() async throws {
        let plain = StubServer.Reply.status(200, headers: ["Content-Type: text/plain"], body: try Self.keySet.get())
        #expect(try await fetch(answered: plain).get().keys == [try TestKey.shared(.es256).publicKey])
    }

    // W-07: the broker follows no redirect.
    @Test(arguments: [204, 301, 302, 303, 307, 308, 400, 401, 404, 500, 503])
    func otherStatus(code: Int) async throws {
        try await StubServer.with({ _ in .ok("{}") }) { (victim) async throws in
            let reply = StubServer.Reply.status(
                code, headers: ["Location: \(victim.url("/internal"))"], body: try Self.keySet.get())
            let expected: KeySetFetchError = (300..<400).contains(code) ? .redirected : .status(code)
            #expect(try await fetch(answered: reply) == .failure(expected))
            #expect(victim.paths.isEmpty)
        }
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

    /// Codes, tokens and secrets go only to the host of the discovery document.
    @Test func discoveryThenKeySet() async throws {
        let document = try Self.keySet.get()
        let keys = try await StubServer.start { _ in .ok(document) }
        for (base, isOwn) in [(keys.url(""), true), ("https://elsewhere.example.com", false)] {
            let metadata =
                #"{"issuer":"https://idp.example.com","jwks_uri":"\#(keys.url("/jwks"))","#
                + #""token_endpoint":"\#(base)/token","revocation_endpoint":"\#(base)/revoke","#
                + #""authorization_endpoint":"\#(base)/authorize"}"#
            try await StubServer.with({ _ in .ok(metadata) }) { server in
                let url = try #require(ProviderURL(server.url("/discovery"), allowsLoopbackHTTP: true))
                let found = try await fetched(.discovery(url)).get()
                #expect(found.keys.keys.count == 1)
                #expect(found.endpoints.token?.string == (isOwn ? base + "/token" : nil))
                #expect(found.endpoints.revocation?.string == (isOwn ? base + "/revoke" : nil))
                #expect(found.endpoints.authorization != nil)
            }
        }
        #expect(keys.paths == ["/jwks", "/jwks"])
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
