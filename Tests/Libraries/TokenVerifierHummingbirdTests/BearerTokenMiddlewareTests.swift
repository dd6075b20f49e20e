import BrokerTesting
import Crypto
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import StrictCoding
import Testing
import TokenVerifier
import TokenVerifierHummingbird

@Suite struct BearerTokenMiddlewareTests {
    struct FixedLoader: KeySetLoader {
        var document: [UInt8]?
        struct Down: Error {}
        func load() async throws -> KeySetDocument {
            guard let document else { throw Down() }
            return KeySetDocument(octets: document)
        }
    }

    private static let now: Int64 = 1_795_000_000

    private func withServer(
        isDown: Bool = false, proofs: ProofPolicy? = nil,
        _ body: @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let loader = FixedLoader(document: isDown ? nil : try TestKey.document([try TestKey.shared(.es256)]))
        let verifier = TokenVerifier(
            issuer: "https://sso.example.com", algorithms: [.es256], loader: loader, now: { Self.now })
        let router = Router(context: APIContext.self)
        router.get("open") { _, context in try context.requireAccessToken().subject }
        let api = router.group().add(
            middleware: BearerTokenMiddleware(
                verifier: verifier, audience: "https://api.example.com", scope: ["orders.read"], proofs: proofs,
                realm: "a\"p\\i\n"))
        api.get("orders") { _, context in try context.requireAccessToken().subject }
        api.group().add(middleware: ScopeMiddleware("orders.write")).post("orders") { _, context in
            try context.requireAccessToken().clientID
        }
        try await Application(router: router).test(.router, body)
    }

    /// - Parameter bound: Whose key the token is bound to.
    fileprivate func token(scope: String = "orders.read", expires: Int64 = 300, bound: TestKey? = nil) throws -> String
    {
        try TestKey.shared(.es256).sign(
            header: #"{"alg":"ES256","kid":"test-ES256","typ":"at+jwt"}"#,
            payload:
                #"{"iss":"https://sso.example.com","sub":"alice","aud":"https://api.example.com","client_id":"app-two","#
                + #""iat":\#(Self.now),"exp":\#(Self.now + expires),"jti":"1","scope":"\#(scope)""#
                + (bound.map { #","cnf":{"jkt":"\#(TestProof.thumbprint(of: $0))"}"# } ?? "") + "}")
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
    @Test func noOrMalformedCredentials() async throws {
        try await withServer { client in
            for authorization in [nil, "", "Basic YTpi", "DPoP abc", "Bearerx abc", "Token abc"] {
                // The query is not looked at.
                let response = try await get(client, authorization, path: "/orders?access_token=\(try token())")
                #expect(response.status == .unauthorized)
                #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="api""#)
                #expect(response.headers[.cacheControl] == "no-store")
                #expect(response.body.readableBytes == 0)
            }
            var twice = HTTPFields()
            for _ in 0..<2 { twice.append(HTTPField(name: .authorization, value: "Bearer \(try token())")) }
            let malformed = ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer \"a\""]
            for fields in malformed.map({ [.authorization: $0] as HTTPFields }) + [twice] {
                let response = try await client.execute(uri: "/orders", method: .get, headers: fields)
                #expect(response.status == .badRequest)
                #expect(response.headers[.wwwAuthenticate] == #"Bearer realm="api", error="invalid_request""#)
            }
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

    // MARK: Bound tokens, RFC 9449 §7

    private func prove(
        _ token: String, by key: TestKey, for target: String = "https://api.example.com/orders",
        _ bend: (inout TestProof) -> Void = { _ in }
    ) throws -> HTTPFields {
        var proof = TestProof(by: key, for: target, at: Self.now)
        proof.claims["htm"] = .string("GET")
        proof.claims["ath"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8)))))
        bend(&proof)
        return [.authorization: "DPoP \(token)", try #require(HTTPField.Name("DPoP")): try proof.signed()]
    }

    private static let algorithms = "ES256 ES384 Ed25519 EdDSA PS256 RS256"

    @Test func aBoundTokenNeedsAProofThatWorksOnce() async throws {
        let key = try TestKey(.es256, keyID: nil)
        let bound = try token(bound: key)
        try await withServer(proofs: ProofPolicy(origin: "https://api.example.com")) { client in
            let fields = try prove(bound, by: key)
            let good = try await client.execute(uri: "/orders?page=2", method: .get, headers: fields)
            #expect(good.status == .ok)
            let again = try await client.execute(uri: "/orders", method: .get, headers: fields)
            #expect(again.status == .unauthorized)
            #expect(
                again.headers[values: .wwwAuthenticate].last
                    == #"DPoP realm="api", error="invalid_dpop_proof", algs="\#(Self.algorithms)""#)
            // As a bearer token it is refused, and a plain token is taken.
            let bearer = try await get(client, "Bearer \(bound)")
            #expect(bearer.status == .unauthorized)
            #expect(bearer.headers[values: .wwwAuthenticate].count == 2)
            let plain = try await get(client, "Bearer \(try token())")
            #expect(plain.status == .ok)
        }
    }

    /// What is wrong with a proof: `TokenVerifierTests`.
    @Test(arguments: [
        ("for another method", "invalid_dpop_proof"), ("for another path", "invalid_dpop_proof"),
        ("missing", "invalid_dpop_proof"), ("of a token that is not bound", "invalid_token"),
    ])
    func aBadProof(fault: String, error: String) async throws {
        let key = try TestKey(.es256, keyID: nil)
        let bound = try token(bound: error == "invalid_token" ? nil : key)
        try await withServer(proofs: ProofPolicy(origin: "https://api.example.com")) { client in
            let path = fault == "for another path" ? "profile" : "orders"
            var fields = try prove(bound, by: key, for: "https://api.example.com/\(path)") { proof in
                if fault == "for another method" { proof.claims["htm"] = .string("POST") }
            }
            if fault == "missing" { fields[try #require(HTTPField.Name("DPoP"))] = nil }
            let response = try await client.execute(uri: "/orders", method: .get, headers: fields)
            #expect(response.status == .unauthorized)
            #expect(response.headers[values: .wwwAuthenticate].last?.contains("error=\"\(error)\"") == true)
        }
    }

    @Test func anAPICanRequireProofs() async throws {
        try await withServer(proofs: ProofPolicy(origin: "https://api.example.com", isRequired: true)) { client in
            let plain = try await get(client, "Bearer \(try token())")
            #expect(plain.status == .unauthorized)
            #expect(
                plain.headers[values: .wwwAuthenticate] == [#"DPoP realm="api", algs="\#(Self.algorithms)""#])
        }
    }

    /// Full, it must not forget a proof; that is an outage.
    @Test func tooManyProofsAre503() async throws {
        let key = try TestKey(.es256, keyID: nil)
        let policy = ProofPolicy(origin: "https://api.example.com", used: UsedProofs(capacity: 1))
        try await withServer(proofs: policy) { client in
            let bound = try token(bound: key)
            let first = try await client.execute(uri: "/orders", method: .get, headers: try prove(bound, by: key))
            #expect(first.status == .ok)
            let second = try await client.execute(uri: "/orders", method: .get, headers: try prove(bound, by: key))
            #expect(second.status == .serviceUnavailable)
        }
    }
}

/// The tutorial, step by step.
@Suite struct TutorialTests {
    @Test func anAPIIsProtected() async throws {
        let router = makeAPI(
            BearerTokenMiddlewareTests.FixedLoader(document: try TestKey.document([try TestKey.shared(.es256)])))
        addRefunds(to: router)
        @Sendable func fields(_ scope: String) throws -> HTTPFields {
            // The API of the tutorial reads the real clock.
            let token = try BearerTokenMiddlewareTests().token(scope: scope, expires: 2_307_444_800)
            return [.authorization: "Bearer \(token)"]
        }
        try await Application(router: router).test(.router) { client in
            try await client.execute(uri: "/orders", method: .get) { #expect($0.status == .unauthorized) }
            try await client.execute(uri: "/orders", method: .get, headers: try fields("orders.read")) {
                #expect($0.status == .ok && String(buffer: $0.body) == "Orders of alice")
            }
            try await client.execute(uri: "/refunds", method: .post, headers: try fields("orders.read")) {
                #expect($0.status == .forbidden)
            }
            try await client.execute(uri: "/refunds", method: .post, headers: try fields("refunds.write")) {
                #expect($0.status == .accepted)
            }
        }
    }
}
