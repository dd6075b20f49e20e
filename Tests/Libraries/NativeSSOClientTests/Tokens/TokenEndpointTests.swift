import OAuthWire
import Testing

@testable import NativeSSOClient

@Suite struct TokenEndpointTests {
    static let address = "https://sso.example.test/token"

    @Test func anExchangeOfThe2018Profile() async throws {
        let transport = ScriptedTransport([.tokens("at", refresh: "rt")])
        let endpoint = TokenEndpoint(
            address: Self.address, clientID: "app-two", identification: .basic, transport: transport)
        let device = try #require(DeviceIdentifier("95twdf3w4y6wvftw35634t"))
        let login = SharedLogin(idToken: Credential("a.b.c"), device: .identifier(device))
        let tokens = try await endpoint.exchange(login, issuer: "https://idp.example.test", scope: "profile")
        #expect(tokens.accessToken.secret == "at")
        #expect(tokens.refreshToken?.secret == "rt")
        #expect(tokens.expiresIn == 300)
        let request = try #require(await transport.requests.first)
        #expect(request.address == Self.address)
        #expect(request[field: "authorization"] == "Basic YXBwLXR3bzo=")
        let form = try await transport.form()
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(form["audience"] == "https://idp.example.test")
        #expect(form["subject_token"] == "a.b.c")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(form["actor_token"] == "95twdf3w4y6wvftw35634t")
        #expect(form["actor_token_type"] == "urn:x-oath:params:oauth:token-type:device-id")
        #expect(form["scope"] == "profile")
        #expect(form["client_id"] == nil)
    }

    @Test func theTokenTypeNamesTheProfile() async throws {
        for (device, type) in [
            (DeviceProof.secret(Credential("s")), "urn:openid:params:token-type:device-secret"),
            (.transitionalSecret(Credential("s")), "urn:x-oath:params:oauth:token-type:device-secret"),
        ] {
            let transport = ScriptedTransport([.tokens("at")])
            let endpoint = TokenEndpoint(address: Self.address, clientID: "app-two", transport: transport)
            _ = try await endpoint.exchange(
                SharedLogin(idToken: Credential("a.b.c"), device: device), issuer: "https://idp.example.test")
            let form = try await transport.form()
            #expect(form["actor_token_type"] == type)
            #expect(form["client_id"] == "app-two")
            #expect(form["scope"] == nil)
            #expect(await transport.requests.first?[field: "Authorization"] == nil)
        }
    }

    static let failures: [(Result<TransportResponse, ScriptedTransport.NoAnswer>, Remedy, Remedy)] = [
        // The answer, and the remedies after an exchange and after a refresh.
        (.refusal("invalid_grant"), .logIn, .exchangeAgain),
        // The refresh token is bound to a lost key; an exchange proves the current key.
        (.refusal("invalid_dpop_proof"), .none, .exchangeAgain),
        (.refusal("invalid_client", status: 401), .none, .none),
        (.refusal("invalid_scope"), .none, .none),
        (.refusal("something_new"), .none, .none),
        (
            .answer(400, #"{"error":"interaction_required","acr_values":"urn:a urn:b","max_age":60}"#),
            .openBrowser(LoginDemand(contextClasses: ["urn:a", "urn:b"], maximumAge: 60)),
            .openBrowser(LoginDemand(contextClasses: ["urn:a", "urn:b"], maximumAge: 60))
        ),
        (
            .answer(400, #"{"error":"interaction_required","authorization_uri":"https://idp.example.test/a?x=y"}"#),
            .openBrowser(LoginDemand(authorizationURI: "https://idp.example.test/a?x=y")),
            .openBrowser(LoginDemand(authorizationURI: "https://idp.example.test/a?x=y"))
        ),
        // An outage is never a refusal, whatever the body says.
        (
            .answer(503, #"{"error":"invalid_grant"}"#, retryAfter: "3"), .retry(after: .seconds(3)),
            .retry(after: .seconds(3))
        ),
        (
            .answer(429, #"{"error":"temporarily_unavailable"}"#, retryAfter: "30"), .retry(after: .seconds(30)),
            .retry(after: .seconds(30))
        ),
        (
            .answer(429, #"{"error":"invalid_grant"}"#, retryAfter: "30"), .retry(after: .seconds(30)),
            .retry(after: .seconds(30))
        ),
        (.answer(429, "", retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT"), .retry(after: nil), .retry(after: nil)),
        (.answer(503, "", retryAfter: "999999999"), .retry(after: .seconds(3600)), .retry(after: .seconds(3600))),
        (.answer(500, #"{"error":"server_error"}"#), .retry(after: nil), .retry(after: nil)),
        (.answer(502, "<html>"), .retry(after: nil), .retry(after: nil)),
        (.failure(ScriptedTransport.NoAnswer()), .retry(after: nil), .retry(after: nil)),
        // A captive portal.
        (.answer(200, "<html>"), .retry(after: nil), .retry(after: nil)),
        (.answer(302, ""), .retry(after: nil), .retry(after: nil)),
        (.answer(400, "<html>"), .retry(after: nil), .retry(after: nil)),
        (.answer(404, #"{"error":"invalid_grant"}"#), .retry(after: nil), .retry(after: nil)),
    ]

    @Test(arguments: failures.indices)
    func theStatusDecidesFirst(_ index: Int) async throws {
        let (answer, afterExchange, afterRefresh) = Self.failures[index]
        let endpoint = TokenEndpoint(
            address: Self.address, clientID: "app-two", transport: ScriptedTransport([answer, answer]))
        let login = SharedLogin(idToken: Credential("a.b.c"), device: .secret(Credential("s")))
        let exchange = await #expect(throws: ClientError.self) {
            try await endpoint.exchange(login, issuer: "https://idp.example.test")
        }
        #expect(exchange?.remedy(after: .exchange) == afterExchange)
        let refresh = await #expect(throws: ClientError.self) { try await endpoint.refresh(Credential("rt")) }
        #expect(refresh?.remedy(after: .refresh) == afterRefresh)
    }

    @Test func aRefusalTellsWhatToReport() async throws {
        let endpoint = TokenEndpoint(
            address: Self.address, clientID: "a", transport: ScriptedTransport([.refusal("invalid_grant")]))
        let error = await #expect(throws: ClientError.self) { try await endpoint.refresh(Credential("rt")) }
        guard case .refused(let refusal) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(refusal.requestID == "r-1")
        #expect(refusal.code == .invalidGrant)
    }

    @Test func secretsDoNotPrint() async throws {
        let transport = ScriptedTransport([.tokens("an-access-token", refresh: "a-refresh-token")])
        let endpoint = TokenEndpoint(address: Self.address, clientID: "a", transport: transport)
        let tokens = try await endpoint.refresh(Credential("a-sent-token"))
        let request = try #require(await transport.requests.first)
        var dumped = ""
        dump(tokens, to: &dumped)
        dump(request, to: &dumped)
        let printed = "\(tokens) \(request) \(String(reflecting: tokens)) \(dumped)"
        for secret in ["an-access-token", "a-refresh-token", "a-sent-token"] { #expect(!printed.contains(secret)) }
        #expect(Mirror(reflecting: request).children.allSatisfy { $0.label == "address" || $0.label == "method" })
    }
}
