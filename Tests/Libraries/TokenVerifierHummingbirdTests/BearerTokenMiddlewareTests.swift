import BrokerTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import StrictCoding
import Testing
import TokenVerifier
import TokenVerifierHummingbird

@Suite struct BearerTokenMiddlewareTests {
    private struct APIContext: AccessTokenRequestContext {
        var coreContext: CoreRequestContextStorage
        var accessToken: AccessTokenClaims?
        init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
    }

    private struct FixedLoader: KeySetLoader {
        var document: [UInt8]?
        struct Down: Error {}
        func load() async throws -> KeySetDocument {
            guard let document else { throw Down() }
            return KeySetDocument(octets: document)
        }
    }

    private static let now: Int64 = 1_795_000_000

    private func withServer(
        isDown: Bool = false, _ body: @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let loader = FixedLoader(document: isDown ? nil : try TestKey.document([try TestKey.shared(.es256)]))
        let verifier = TokenVerifier(
            issuer: "https://sso.example.com", algorithms: [.es256], loader: loader, now: { Self.now })
        let router = Router(context: APIContext.self)
        router.get("open") { _, context in try context.requireAccessToken().subject }
        let api = router.group().add(
            middleware: BearerTokenMiddleware(
                verifier: verifier, audience: "https://api.example.com", scope: ["orders.read"], realm: "a\"p\\i\n"))
        api.get("orders") { _, context in try context.requireAccessToken().subject }
        api.group().add(middleware: ScopeMiddleware("orders.write")).post("orders") { _, context in
            try context.requireAccessToken().clientID
        }
        try await Application(router: router).test(.router, body)
    }

    private func token(scope: String = "orders.read", expires: Int64 = 300) throws -> String {
        try TestKey.shared(.es256).sign(
            header: #"{"alg":"ES256","kid":"test-ES256","typ":"at+jwt"}"#,
            payload:
                #"{"iss":"https://sso.example.com","sub":"alice","aud":"https://api.example.com","client_id":"app-two","#
                + #""iat":\#(Self.now),"exp":\#(Self.now + expires),"jti":"1","scope":"\#(scope)"}"#)
    }

    private func get(
        _ client: any TestClientProtocol, _ authorization: String?, path: String = "/orders",
        method: HTTPRequest.Method = .get
    ) async throws -> TestResponse {
        let headers: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
        return try await client.execute(uri: path, method: method, headers: headers)
    }

    @Test func aGoodTokenReachesTheRoute() async throws {
        try await withServer { client in
            for scheme in ["Bearer", "bearer", "BEARER", "Bearer "] {
                let response = try await get(client, "\(scheme) \(try token())")
                #expect(response.status == .ok)
                #expect(String(buffer: response.body) == "alice")
            }
        }
    }

    /// RFC 6750 §3.1: without credentials no error code.
    @Test(arguments: [nil, "", "Basic YTpi", "DPoP abc", "Bearerx abc", "Token abc"])
    func noCredentials(authorization: String?) async throws {
        try await withServer { client in
            let response = try await get(client, authorization)
            #expect(response.status == .unauthorized)
            #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="api""#)
            #expect(response.headers[.cacheControl] == "no-store")
            #expect(response.body.readableBytes == 0)
        }
    }

    @Test(arguments: ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer \"a\""])
    func malformedCredentials(authorization: String) async throws {
        try await withServer { client in
            let response = try await get(client, authorization)
            #expect(response.status == .badRequest)
            #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="api", error="invalid_request""#)
        }
    }

    @Test func twoFields() async throws {
        try await withServer { client in
            var headers = HTTPFields()
            headers.append(HTTPField(name: .authorization, value: "Bearer \(try token())"))
            headers.append(HTTPField(name: .authorization, value: "Bearer \(try token())"))
            let response = try await client.execute(uri: "/orders", method: .get, headers: headers)
            #expect(response.status == .badRequest)
        }
    }

    @Test func theQueryIsNotLookedAt() async throws {
        try await withServer { client in
            let response = try await get(client, nil, path: "/orders?access_token=\(try token())")
            #expect(response.status == .unauthorized)
        }
    }

    @Test func invalidTokens() async throws {
        try await withServer { client in
            let expired = try await get(client, "Bearer \(try token(expires: -6))")
            #expect(expired.status == .unauthorized)
            #expect(
                expired.headers[.wwwAuthenticate]
                    == #"Bearer realm="api", error="invalid_token", error_description="The access token expired""#)
            for text in ["x", try token() + "A", try TestKey.shared(.es256).sign(claims: JSONObject())] {
                let response = try await get(client, "Bearer \(text)")
                #expect(response.status == .unauthorized)
                #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="api", error="invalid_token""#)
                #expect(response.body.readableBytes == 0)
            }
        }
    }

    @Test func scopeTooSmall() async throws {
        try await withServer { client in
            let none = try await get(client, "Bearer \(try token(scope: "profile"))")
            #expect(none.status == .forbidden)
            #expect(
                none.headers[.wwwAuthenticate]
                    == #"Bearer realm="api", error="insufficient_scope", scope="orders.read""#)
            let reader = try await get(client, "Bearer \(try token())", method: .post)
            #expect(reader.status == .forbidden)
            #expect(reader.headers[.wwwAuthenticate]?.contains(#"scope="orders.write""#) == true)
            let writer = try await get(client, "Bearer \(try token(scope: "orders.read orders.write"))", method: .post)
            #expect(String(buffer: writer.body) == "app-two")
        }
    }

    /// An outage is not the caller's doing.
    @Test func withoutKeysTheAnswerIs503() async throws {
        try await withServer(isDown: true) { client in
            let response = try await get(client, "Bearer \(try token())")
            #expect(response.status == .serviceUnavailable)
            #expect(response.headers[.retryAfter] == "5")
            #expect(response.headers[.wwwAuthenticate] == nil)
        }
    }

    @Test func aRouteOutsideTheMiddlewareHasNoCaller() async throws {
        try await withServer { client in
            let response = try await get(client, "Bearer \(try token())", path: "/open")
            #expect(response.status == .unauthorized)
        }
    }
}
