import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

@Suite struct IDTokenClaimsTests {
    let attempt = LoginAttempt(
        provider: LoginAttemptTests.provider, clientID: "app-one", redirectURI: "com.example.one:/callback",
        scope: "openid", verifier: CodeVerifier(), state: "s", nonce: "n")

    @Test func theTokenOfThisLoginIsTaken() throws {
        try check(token())
        try check(token(aud: "[\"app-one\"]"))
        try check(token(exp: "701"))
    }

    @Test func theTokenOfAnotherIsRefused() {
        for (token, defect) in [
            (token(iss: "https://idp.example.test/"), ClientError.IDTokenDefect.otherIssuer),
            (token(aud: "\"app-two\""), .otherAudience), (token(aud: "[\"app-one\",\"app-two\"]"), .otherAudience),
            (token(aud: "7"), .otherAudience), (token(nonce: "m"), .otherNonce), (token(exp: "700"), .expired),
            (token(exp: "\"2000\""), .expired), (token(exp: "1e400"), .expired), ("a.b", .malformed),
            ("a.!.c", .malformed), ("a.e30.c", .otherIssuer), (token(sub: ""), .malformed),
        ] {
            #expect {
                try check(token)
            } throws: { error in
                if case ClientError.untrustedIDToken(defect) = error { true } else { false }
            }
        }
    }

    private func check(_ token: String) throws {
        _ = try IDTokenClaims(
            try IDTokenClaims.unverified(Credential(token)), from: attempt.provider.issuer, for: attempt.clientID,
            nonce: attempt.nonce, at: 1000)
    }

    private func token(
        iss: String = "https://idp.example.test", sub: String = "u", aud: String = "\"app-one\"", nonce: String = "n",
        exp: String = "2000"
    ) -> String {
        let payload = "{\"iss\":\"\(iss)\",\"sub\":\"\(sub)\",\"aud\":\(aud),\"nonce\":\"\(nonce)\",\"exp\":\(exp)}"
        return "e30.\(Base64URL.encode(payload.utf8)).c2ln"
    }
}
