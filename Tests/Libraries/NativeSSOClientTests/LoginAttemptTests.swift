import OAuthWire
import Testing

@testable import NativeSSOClient

@Suite struct LoginAttemptTests {
    static let provider = IdentityProvider(
        issuer: "https://idp.example.test", authorizationEndpoint: "https://idp.example.test/authorize",
        tokenEndpoint: "https://idp.example.test/token")
    let attempt = LoginAttempt(
        provider: provider, clientID: "app-one", redirectURI: "com.example.one:/callback", scope: "openid device_sso")

    @Test func theAddressHoldsTheRequest() throws {
        let address = attempt.address(prompt: "login", contextClasses: ["urn:a", "urn:b"], maximumAge: 60)
        let prefix = "https://idp.example.test/authorize?"
        try #require(address.hasPrefix(prefix))
        let form = try FormDecoder.decode(address.dropFirst(prefix.count).utf8)
        #expect(form["response_type"] == "code")
        #expect(form["client_id"] == "app-one")
        #expect(form["redirect_uri"] == "com.example.one:/callback")
        #expect(form["scope"] == "openid device_sso")
        #expect(form["state"] == attempt.state)
        #expect(form["nonce"] == attempt.nonce)
        #expect(form["code_challenge"] == attempt.verifier.challenge)
        #expect(form["code_challenge_method"] == "S256")
        #expect(form["prompt"] == "login")
        #expect(form["acr_values"] == "urn:a urn:b")
        #expect(form["max_age"] == "60")
        #expect(!address.contains(attempt.verifier.text))
    }

    @Test func anEndpointMayHaveAQuery() {
        let provider = IdentityProvider(
            issuer: "https://i", authorizationEndpoint: "https://i/authorize?tenant=7", tokenEndpoint: "https://i/token"
        )
        let attempt = LoginAttempt(provider: provider, clientID: "a", redirectURI: "com.example:/cb", scope: "openid")
        #expect(attempt.address().hasPrefix("https://i/authorize?tenant=7&response_type=code&"))
    }

    @Test func aDemandedRequestIsMadeWhole() throws {
        let demanded =
            "https://idp.example.test/authorize?response_type=code&client_id=app-one&scope=openid+payments&max_age=60"
        let address = try #require(attempt.address(completing: demanded))
        try #require(address.hasPrefix(demanded + "&"))
        let form = try FormDecoder.decode(address.dropFirst("https://idp.example.test/authorize?".count).utf8)
        #expect(form["scope"] == "openid payments" && form["max_age"] == "60")
        #expect(form["redirect_uri"] == "com.example.one:/callback")
        #expect(form["state"] == attempt.state && form["nonce"] == attempt.nonce)
        #expect(form["code_challenge"] == attempt.verifier.challenge && form["code_challenge_method"] == "S256")
    }

    @Test(arguments: [
        "https://evil.example/authorize?response_type=code&client_id=app-one",
        "https://idp.example.test.evil.example/authorize?response_type=code&client_id=app-one",
        "https://idp.example.test/authorize2?response_type=code&client_id=app-one",
        "https://idp.example.test/authorize?response_type=code&client_id=app-two",
        "https://idp.example.test/authorize?response_type=token&client_id=app-one",
        "https://idp.example.test/authorize?response_type=code&client_id=app-one&redirect_uri=evil:/cb",
        "https://idp.example.test/authorize?response_type=code&client_id=app-one&state=theirs",
        "https://idp.example.test/authorize?response_type=code&client_id=app-one&client_id=app-one",
        "https://idp.example.test/authorize", "",
    ])
    func theBrowserIsSentNowhereElse(_ demanded: String) {
        #expect(attempt.address(completing: demanded) == nil)
    }

    @Test(arguments: ["&iss=https%3A%2F%2Fidp.example.test", ""])
    func aCallbackBringsTheCode(_ issuer: String) throws {
        let callback = "com.example.one:/callback?code=c0de&state=\(attempt.state)\(issuer)"
        #expect(try attempt.code(from: callback).secret == "c0de")
    }

    static let bad: [(String, CallbackError)] = [
        ("com.example.two:/callback?code=c&state=STATE", .malformed),
        ("com.example.one:/callback2?code=c&state=STATE", .malformed),
        ("com.example.one:/callback", .malformed),
        ("com.example.one:/callback?state=STATE", .malformed),
        ("com.example.one:/callback?code=c&state=STATE&code=d", .malformed),
        ("com.example.one:/callback?code=c", .otherState),
        ("com.example.one:/callback?code=c&state=other", .otherState),
        ("com.example.one:/callback?error=access_denied&state=other", .otherState),
        ("com.example.one:/callback?code=c&state=STATE&iss=https%3A%2F%2Fevil.example", .otherIssuer),
        ("com.example.one:/callback?error=login_required&state=STATE", .refused("login_required")),
    ]

    @Test(arguments: bad)
    func aMalformedCallbackIsRefused(_ callback: String, _ error: CallbackError) {
        #expect(throws: error) {
            try attempt.code(from: callback.replacing("STATE", with: attempt.state))
        }
    }
}
