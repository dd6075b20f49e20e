import BrokerTesting
import Foundation
import IdentityProvider
import JOSE
import NativeSSO
import OAuthWire
import StrictCoding
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

    /// RFC 6749 §2.3.1: the client form-encodes both parts before it joins them.
    @Test(
        arguments: [
            (nil, "&client_id=app-one", nil),
            (.basic, "", "Basic " + Data("app-one:\(escaped)".utf8).base64EncodedString()),
            (.post, "&client_id=app-one&client_secret=\(escaped)", nil),
        ] as [(ProviderCodeRelay.ClientSecret.Method?, String, String?)])
    func authenticates(
        by method: ProviderCodeRelay.ClientSecret.Method?, form: String, expected: String?
    ) async throws {
        try await StubServer.with({ _ in Self.json() }) { server in
            let secret = method.map { ProviderCodeRelay.ClientSecret(Credential(Self.secret), by: $0) }
            let result = try await withRelay(tokens: server.url("/token"), secret: secret) { await redeem($0) }
            #expect(try result.get().accessToken == "a")
            let lines = try #require(server.requests.first).components(separatedBy: "\r\n")
            #expect(server.requests.count == 1 && lines.first == "POST /token HTTP/1.1")
            #expect(lines.last == Self.form + form)
            let authorization = lines.first { $0.lowercased().hasPrefix("authorization: ") }
            #expect(authorization.map { String($0.dropFirst("authorization: ".count)) } == expected)
        }
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

    // MARK: TLS

    /// The relay sends the code only to a server with a certificate of a configured CA. `KeySetFetcherTests` has the other
    /// certificates.
    @Test func authorities() async throws {
        let (own, other) = (try TestCertificate.current(), try TestCertificate.current())
        try await StubServer.with({ _ in Self.json() }, certificate: own) { server in
            func result(trusting authority: TestCertificate) async throws -> Result<ProviderTokens, CodeRelayError> {
                let authorities = try #require(CertificateAuthorities(pem: Array(authority.certificate.utf8)))
                let url = "https://127.0.0.1:\(server.port)/token"
                return try await withRelay(tokens: url, authorities: authorities) { await redeem($0) }
            }
            // The code stays usable.
            let refused = try await result(trusting: other)
            guard case .failure(.notAsked(.unreachable)) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(server.requests.isEmpty)
            #expect(try await result(trusting: own).get().accessToken == "a")
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
}
