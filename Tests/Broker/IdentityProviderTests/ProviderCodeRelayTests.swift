import BrokerTesting
import Foundation
import IdentityProvider
import JOSE
import NativeSSO
import OAuthWire
import StrictCoding
import Synchronization
import Testing

/// Codes and revocations over real HTTP and TLS.
@Suite struct ProviderCodeRelayTests {
    private static let answer = #"{"access_token":"a","token_type":"Bearer","id_token":"e30.e30.c2ln"}"#
    private static let app = ClientID(validated: "app-one")
    private static let code = PresentedCode(
        code: "a code&more", redirectURI: "com.example.one:/callback",
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    /// Contains every character that a form must escape.
    private static let secret = "p+ss:w%rd&= /"

    private static func json(_ status: Int = 200, _ body: String = answer) -> StubServer.Reply {
        .status(status, headers: ["Content-Type: application/json"], body: Array(body.utf8))
    }

    /// A relay for one provider with the endpoints `tokens` and `revocation`.
    private func withRelay<Value>(
        tokens: String?, revocation: String? = nil, secret: ProviderCodeRelay.ClientSecret? = nil,
        secrets: [ClientID: ProviderCodeRelay.ClientSecret] = [:],
        authorities: CertificateAuthorities? = nil, timeout: Duration = .seconds(5),
        _ body: (ProviderCodeRelay) async throws -> Value
    ) async throws -> Value {
        let http = TokenEndpointClient(authorities: authorities)
        let provider = TestProvider(ScriptedFetcher(.timedOut))
        func url(_ text: String?) -> ProviderURL? { text.flatMap { ProviderURL($0, allowsLoopbackHTTP: true) } }
        let relay = ProviderCodeRelay([
            .init(
                keys: provider.keys, tokenEndpoint: url(tokens), revocationEndpoint: url(revocation), secret: secret,
                secrets: secrets, timeout: timeout, over: http)
        ])
        let result: Result<Value, any Error>
        do { result = .success(try await body(relay)) } catch { result = .failure(error) }
        try await http.shutdown()
        return try result.get()
    }

    private func redeem(_ relay: ProviderCodeRelay) async -> Result<ProviderTokens, CodeRelayError> {
        do throws(CodeRelayError) {
            return .success(try await relay.redeem(Self.code, of: Self.app, at: TestProvider.issuer))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Client authentication

    static let form =
        "grant_type=authorization_code&code=a+code%26more&redirect_uri=com.example.one%3A%2Fcallback"
        + "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let escaped = "p%2Bss%3Aw%25rd%26%3D+%2F"

    @Test func withoutASecret() async throws {
        let request = try await request(nil)
        #expect(request.body == Self.form + "&client_id=app-one" && request.authorization == nil)
    }

    /// RFC 6749 §2.3.1: the client form-encodes both parts before it joins them.
    @Test func clientSecretBasic() async throws {
        let request = try await request(.basic)
        #expect(request.body == Self.form)
        let expected = Data("app-one:\(Self.escaped)".utf8).base64EncodedString()
        #expect(request.authorization == "Basic \(expected)")
    }

    @Test func clientSecretPost() async throws {
        let request = try await request(.post)
        #expect(request.body == Self.form + "&client_id=app-one&client_secret=\(Self.escaped)")
        #expect(request.authorization == nil)
    }

    @Test func aClientWithASecretOfItsOwn() async throws {
        var bodies: [String] = []
        try await StubServer.with({ _ in Self.json() }) { server in
            let (common, own) = (Credential("common"), Credential("own"))
            for client in [Self.app, ClientID(validated: "app-two")] {
                _ = try await withRelay(
                    tokens: server.url("/token"), secret: .init(common, by: .post),
                    secrets: [client: .init(own, by: .post)]
                ) { try await redeem($0).get() }
            }
            bodies = server.requests.map { $0.components(separatedBy: "\r\n").last ?? "" }
        }
        #expect(bodies.map { $0.hasSuffix("&client_secret=own") } == [true, false])
        #expect(bodies.last?.hasSuffix("&client_secret=common") == true)
    }

    private func request(
        _ method: ProviderCodeRelay.ClientSecret.Method?
    ) async throws -> (body: String, authorization: String?) {
        var received: [String] = []
        try await StubServer.with({ _ in Self.json() }) { server in
            let secret = method.map { ProviderCodeRelay.ClientSecret(Credential(Self.secret), by: $0) }
            let result = try await withRelay(tokens: server.url("/token"), secret: secret) { await redeem($0) }
            #expect(try result.get().accessToken == "a")
            received = server.requests
        }
        let lines = try #require(received.first).components(separatedBy: "\r\n")
        #expect(received.count == 1 && lines.first == "POST /token HTTP/1.1")
        let authorization = lines.first { $0.lowercased().hasPrefix("authorization: ") }
        return (lines.last ?? "", authorization.map { String($0.dropFirst("authorization: ".count)) })
    }

    // MARK: TLS

    /// The relay sends the code only to a server with a certificate of a configured CA for the requested host.
    @Test func authorities() async throws {
        let (own, other) = (try TestCertificate.current(), try TestCertificate.current())
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        let elsewhere = try TestCertificate(
            address: [127, 0, 0, 9], notBefore: now.adding(-3600), notAfter: now.adding(3600))
        for (shown, trusted, host, isTaken) in [
            (own, own, "127.0.0.1", true), (own, other, "127.0.0.1", false), (own, nil, "127.0.0.1", false),
            (elsewhere, elsewhere, "localhost", false), (elsewhere, elsewhere, "127.0.0.1", false),
        ] {
            try await StubServer.with({ _ in Self.json() }, certificate: shown) { server in
                let authorities = try trusted.map {
                    try #require(CertificateAuthorities(pem: Array($0.certificate.utf8)))
                }
                let result = try await withRelay(
                    tokens: "https://\(host):\(server.port)/token", authorities: authorities
                ) { await redeem($0) }
                if isTaken {
                    #expect(try result.get().accessToken == "a")
                } else {
                    // The code stays usable.
                    guard case .failure(.notAsked(.unreachable)) = result else {
                        Issue.record("\(host): \(result)")
                        return
                    }
                    #expect(server.requests.isEmpty)
                }
            }
        }
    }

    /// No server listens there.
    @Test func refusedConnections() async throws {
        let server = try await StubServer.start({ _ in Self.json() })
        let (port, hosts) = (server.port, ["127.0.0.1", "localhost"])
        try await server.stop()
        for host in hosts {
            let result = try await withRelay(tokens: "http://\(host):\(port)/token") { await redeem($0) }
            guard case .failure(.notAsked(.unreachable)) = result else {
                Issue.record("\(host): \(result)")
                continue
            }
        }
    }

    // MARK: Revocation

    @Test(arguments: [
        (200, RevocationOutcome.revoked), (400, .refused), (401, .refused), (302, .failed), (503, .failed),
    ])
    func revokes(status: Int, outcome: RevocationOutcome) async throws {
        try await StubServer.with({ _ in .status(status) }) { server in
            let secret = ProviderCodeRelay.ClientSecret(Credential(Self.secret), by: .post)
            let found = try await withRelay(tokens: nil, revocation: server.url("/revoke"), secret: secret) {
                await $0.revoke("r 1", of: Self.app, at: TestProvider.issuer)
            }
            #expect(found == outcome)
            let body = server.requests.first?.components(separatedBy: "\r\n").last
            #expect(
                body
                    == "token=r+1&token_type_hint=refresh_token&client_id=app-one&client_secret=\(Self.escaped)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func revocationHasItsOwnDeadline() async throws {
        try await StubServer.with({ _ in .hang() }) { server in
            let found = try await withRelay(
                tokens: nil, revocation: server.url("/revoke"), timeout: .milliseconds(200)
            ) { await $0.revoke("r", of: Self.app, at: TestProvider.issuer) }
            #expect(found == .failed)
        }
        let found = try await withRelay(tokens: nil) {
            await $0.revoke("r", of: Self.app, at: TestProvider.issuer)
        }
        #expect(found == .endpointUnknown)
    }

    /// An unusable answer still reports its refresh token.
    @Test(arguments: [
        #"{"access_token":"a","token_type":"Bearer","refresh_token":"r"}"#,
        #"{"access_token":"a","token_type":"mac","refresh_token":"r","id_token":"i"}"#,
        #"{"token_type":"Bearer","refresh_token":"r","id_token":"i"}"#,
    ])
    func orphans(body: String) async throws {
        try await StubServer.with({ _ in Self.json(200, body) }) { server in
            guard
                case .failure(.unanswered(_, orphan: "r")) = try await withRelay(
                    tokens: server.url("/token"), { await redeem($0) })
            else {
                Issue.record("the refresh token is lost")
                return
            }
        }
    }

    // MARK: Discovery

    /// Codes, tokens and secrets go only to the host of the discovery document.
    @Test func endpointsOfItsOwnHost() async throws {
        let key = try TestKey.document([try TestKey.shared(.es256)])
        for (host, isTaken) in [("", true), ("https://elsewhere.example.com", false)] {
            let port = LockedPort()
            try await StubServer.with({ path in
                guard path != "/keys" else { return .ok(key) }
                let own = "http://127.0.0.1:\(port.value)"
                let base = host.isEmpty ? own : host
                return .ok(
                    """
                    {"issuer":"\(TestProvider.issuer.string)","jwks_uri":"\(own)/keys","token_endpoint":"\(base)/token",
                     "revocation_endpoint":"\(base)/revoke","authorization_endpoint":"\(base)/authorize"}
                    """)
            }) { server in
                port.value = server.port
                let documents = DocumentClient()
                let fetcher = KeySetFetcher(
                    issuer: TestProvider.issuer,
                    source: .discovery(
                        try #require(ProviderURL(server.url("/discovery"), allowsLoopbackHTTP: true)), keySetHosts: []),
                    documents: documents, allowsLoopbackHTTP: true)
                let fetched: FetchedKeySet
                do { fetched = try await fetcher.fetch() } catch {
                    try await documents.shutdown()
                    throw error
                }
                try await documents.shutdown()
                #expect((fetched.endpoints.token?.string == server.url("/token")) == isTaken)
                #expect((fetched.endpoints.revocation?.string == server.url("/revoke")) == isTaken)
                #expect((fetched.endpoints.token == nil) != isTaken)
                #expect(fetched.endpoints.authorization != nil)
            }
        }
    }
}

/// The port of a server whose own answer contains it.
private final class LockedPort: Sendable {
    private let port = Mutex(0)
    var value: Int {
        get { port.withLock { $0 } }
        set { port.withLock { $0 = newValue } }
    }
}
