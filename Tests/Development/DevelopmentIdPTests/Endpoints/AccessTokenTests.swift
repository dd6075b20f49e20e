import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import JOSE
import StrictCoding
import Testing

/// Access tokens as APIs get them: RFC 9068.
@Suite struct AccessTokenTests {
    @Test(arguments: SigningAlgorithm.allCases)
    func theTokenNamesUserScopeAndAPIs(_ algorithm: SigningAlgorithm) async throws {
        try await TestProvider.run(mode: .plain, algorithm: algorithm) { provider in
            let scope = "openid profile email offline_access api:serverA api:serverB"
            let answer = try await provider.redeem(try await TestBrowser(provider).code(scope: scope))
            let header = try CompactJWS(try #require(answer.accessToken)).header
            #expect(header.type == "at+jwt")
            #expect(header.keyID == provider.signingKeys.current.publicKey.keyID)
            let claims = try await provider.claims(answer.accessToken)
            #expect(claims.string("iss") == TestProvider.issuer)
            #expect(claims.string("sub") == "248289761001")
            #expect(claims.strings("aud") == ["https://api-a.example.test", "https://api-b.example.test"])
            #expect(claims.string("client_id") == "app-one")
            #expect(claims.string("scope") == scope)
            #expect(claims.string("email") == "alice@example.test")
            #expect(claims.strings("roles") == ["user"])
            for (name, time) in [("iat", "1800000000"), ("nbf", "1800000000"), ("exp", "1800000300")] {
                #expect(claims.number(name)?.text == time, "\(name)")
            }
            let again = try await provider.claims(try await provider.refresh(answer.refreshToken).accessToken)
            #expect(again.string("jti") != claims.string("jti"))
        }
    }

    @Test func theScopeDecidesWhichAPITakesItAndWhatTheIDTokenSays() async throws {
        try await TestProvider.run { provider in
            for (scope, audience) in [
                ("openid api:serverA", ["https://api-a.example.test"]),
                ("openid api:serverB", ["https://api-b.example.test"]), ("openid", [TestProvider.issuer]),
            ] {
                let answer = try await provider.redeem(try await TestBrowser(provider).code(scope: scope))
                #expect(try await provider.claims(answer.accessToken).strings("aud") == audience)
            }
            // Without offline_access there is no refresh token.
            let answer = try await provider.redeem(try await TestBrowser(provider).code(scope: "openid email"))
            #expect(answer.status == .ok && answer.refreshToken == nil)
            let claims = try await provider.claims(answer.idToken)
            #expect(claims.string("email") == "alice@example.test" && !claims.contains("name"))
        }
    }
}
