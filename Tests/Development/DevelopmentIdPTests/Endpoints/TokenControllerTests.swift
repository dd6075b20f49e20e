import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import StrictCoding
import Testing

@Suite struct TokenControllerTests {
    @Test(arguments: SigningAlgorithm.allCases)
    func aCodeBecomesTokens(_ algorithm: SigningAlgorithm) async throws {
        try await TestProvider.run(algorithm: algorithm) { provider in
            let answer = try await provider.redeem(try await TestBrowser(provider).code())
            #expect(answer.status == .ok)
            #expect(answer.headers[.cacheControl] == "no-store")
            #expect(answer.headers[values: try #require(HTTPField.Name("Pragma"))] == ["no-cache"])
            #expect(answer.json.string("token_type") == "Bearer")
            #expect(answer.json.number("expires_in")?.int64 == 300)
            #expect(answer.json.string("scope") == "openid profile offline_access")
            let claims = try await provider.claims(answer.idToken)
            #expect(claims.string("iss") == TestProvider.issuer)
            #expect(claims.string("sub") == "248289761001")
            #expect(claims.string("aud") == "app-one")
            #expect(claims.string("nonce") == "n-0S6")
            #expect(claims.number("iat")?.text == "1800000000")
            #expect(claims.number("exp")?.text == "1800000300")
            #expect(claims.number("auth_time")?.text == "1800000000")
            #expect(claims.strings("amr") == ["pwd"])
            #expect(claims.string("acr") != nil)
        }
    }

    @Test func aCodeIsGoodOnceForSixtySecondsForItsClientAndAddress() async throws {
        try await TestProvider.run { provider in
            let unproved = try await TestBrowser(provider).code()
            #expect(try await provider.redeem(unproved, verifier: "").error == "invalid_grant")
            // A second use revokes what came of the first.
            let code = try await TestBrowser(provider).code()
            let first = try await provider.redeem(code)
            #expect(try await provider.opensUserInfo(first.accessToken))
            #expect(try await provider.redeem(code).error == "invalid_grant")
            #expect(try await !provider.opensUserInfo(first.accessToken))
            #expect(try await provider.refresh(first.refreshToken).error == "invalid_grant")
            let browser = TestBrowser(provider)
            let (good, late) = (try await browser.code(), try await browser.code())
            provider.clock.advance(by: 59)
            #expect(try await provider.redeem(good).status == .ok)
            provider.clock.advance(by: 1)
            #expect(try await provider.redeem(late).error == "invalid_grant")
            for (client, uri) in [("app-two", TestProvider.redirectURI), ("app-one", "com.example.one:/other")] {
                let code = try await TestBrowser(provider).code()
                let answer = try await provider.token([
                    "grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": uri,
                    "code_verifier": TestProvider.verifier,
                ])
                #expect(answer.error == "invalid_grant", "\(client) \(uri)")
            }
        }
    }

    @Test func aReusedOrForeignRefreshTokenRevokesTheGrant() async throws {
        try await TestProvider.run { provider in
            let first = try await provider.redeem(try await TestBrowser(provider).code())
            provider.clock.advance(by: 10)
            let second = try await provider.refresh(first.refreshToken)
            let claims = try await provider.claims(second.idToken)
            #expect(claims.number("auth_time")?.text == "1800000000")
            #expect(claims.number("iat")?.text == "1800000010")
            #expect(!claims.contains("nonce"))
            #expect(try await provider.refresh(first.refreshToken).error == "invalid_grant")
            #expect(try await !provider.opensUserInfo(second.accessToken))
            // A refresh token of another client does the same.
            let other = try await provider.redeem(try await TestBrowser(provider).code())
            #expect(try await provider.refresh(other.refreshToken, clientID: "app-two").error == "invalid_grant")
            #expect(try await provider.refresh(other.refreshToken).error == "invalid_grant")
        }
    }

    @Test func aRefreshMayNarrowTheScopeAndNotWidenIt() async throws {
        try await TestProvider.run { provider in
            let first = try await provider.redeem(try await TestBrowser(provider).code())
            #expect(try await provider.refresh(first.refreshToken, scope: "openid email").error == "invalid_scope")
            let narrow = try await provider.refresh(first.refreshToken, scope: "openid")
            #expect(narrow.json.string("scope") == "openid")
            let wide = try await provider.refresh(narrow.refreshToken)
            #expect(wide.json.string("scope") == "openid profile offline_access")
            // A grant ends 30 days after its login.
            provider.clock.advance(by: 30 * 86_400 - 1)
            let second = try await provider.refresh(wide.refreshToken)
            #expect(second.status == .ok)
            provider.clock.advance(by: 1)
            #expect(try await provider.refresh(second.refreshToken).error == "invalid_grant")
        }
    }

    @Test func aPublicClientMayIdentifyItselfByBasicWithAnEmptyPassword() async throws {
        try await TestProvider.run { provider in
            let code = try await TestBrowser(provider).code()
            let answer = try await provider.token(
                [
                    "grant_type": "authorization_code", "code": code, "redirect_uri": TestProvider.redirectURI,
                    "code_verifier": TestProvider.verifier,
                ], basic: BasicCredentials(clientID: "app-one"))
            #expect(answer.status == .ok)
        }
    }

    static let badClients: [(BasicCredentials?, KeyValuePairs<String, String>)] = [
        (nil, [:]), (nil, ["client_id": "unknown"]), (nil, ["client_id": "web"]),
        (nil, ["client_id": "web", "client_secret": "a secret: +"]),
        (BasicCredentials(clientID: "unknown"), [:]), (BasicCredentials(clientID: "web"), [:]),
        (BasicCredentials(clientID: "web", clientSecret: Credential("wrong")), [:]),
        (BasicCredentials(clientID: "app-one", clientSecret: Credential("x")), [:]),
    ]

    @Test func clientsProveWhoTheyAre() async throws {
        try await TestProvider.run { provider in
            for (basic, form) in Self.badClients {
                let answer = try await provider.token(form, basic: basic)
                #expect(answer.error == "invalid_client", "\(form)")
                #expect(answer.status == (basic == nil ? .badRequest : .unauthorized), "\(form)")
                #expect((answer.headers[.wwwAuthenticate] != nil) == (basic != nil), "\(form)")
            }
            // The client is accepted; the refusal is about the grant.
            let web = BasicCredentials(clientID: "web", clientSecret: Credential("a secret: +"))
            #expect(try await provider.token(["grant_type": "password"], basic: web).error == "unsupported_grant_type")
            let twice = try await provider.token(["grant_type": "password", "client_id": "app-one"], basic: web)
            #expect(twice.error == "invalid_request")
        }
    }

    static let malformed: [(KeyValuePairs<String, String>, String)] = [
        (["client_id": "app-one"], "invalid_request"),
        (["client_id": "app-one", "grant_type": "password"], "unsupported_grant_type"),
        (["client_id": "app-one", "grant_type": "authorization_code"], "invalid_request"),
        (["client_id": "app-one", "grant_type": "authorization_code", "code": "x"], "invalid_request"),
        (
            ["client_id": "app-one", "grant_type": "authorization_code", "code": "x", "redirect_uri": "y"],
            "invalid_grant"
        ),
        (["client_id": "app-one", "grant_type": "refresh_token"], "invalid_request"),
        (["client_id": "app-one", "grant_type": "refresh_token", "refresh_token": "x"], "invalid_grant"),
        (["client_id": "app-one", "client_id": "app-one", "grant_type": "refresh_token"], "invalid_request"),
    ]

    @Test func aMalformedRequestIsRefused() async throws {
        try await TestProvider.run { provider in
            for (form, error) in Self.malformed {
                #expect(try await provider.token(form).error == error, "\(form)")
            }
            let response = try await provider.http.execute(
                uri: "/token", method: .post, headers: [.contentType: "application/json"], body: .init(string: "{}"))
            #expect(try TokenAnswer(response).error == "invalid_request")
        }
    }
}
