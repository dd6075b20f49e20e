import OAuthWire
import StrictCoding
import Testing

@testable import NativeSSOClient

@Suite struct IDTokenCheckTests {
    let attempt = LoginAttempt(
        provider: LoginAttemptTests.provider, clientID: "app-one", redirectURI: "com.example.one:/callback",
        scope: "openid", verifier: CodeVerifier(), state: "s", nonce: "n")

    @Test func theTokenOfThisLoginIsTaken() throws {
        try IDTokenCheck.check(token(), of: attempt, from: attempt.provider.issuer, at: 1000)
        try IDTokenCheck.check(token(aud: "[\"app-one\"]"), of: attempt, from: attempt.provider.issuer, at: 1000)
        try IDTokenCheck.check(token(exp: "701"), of: attempt, from: attempt.provider.issuer, at: 1000)
    }

    @Test func theTokenOfAnotherIsRefused() {
        for (token, defect) in [
            (token(iss: "https://idp.example.test/"), ClientError.IDTokenDefect.otherIssuer),
            (token(aud: "\"app-two\""), .otherAudience), (token(aud: "[\"app-one\",\"app-two\"]"), .otherAudience),
            (token(aud: "7"), .otherAudience), (token(nonce: "m"), .otherNonce), (token(exp: "700"), .expired),
            (token(exp: "\"2000\""), .expired), (token(exp: "1e400"), .expired), ("a.b", .malformed),
            ("a.!.c", .malformed), ("a.e30.c", .otherIssuer),
        ] {
            #expect {
                try IDTokenCheck.check(token, of: attempt, from: attempt.provider.issuer, at: 1000)
            } throws: { error in
                if case ClientError.untrustedIDToken(defect) = error { true } else { false }
            }
        }
    }

    private func token(
        iss: String = "https://idp.example.test", aud: String = "\"app-one\"", nonce: String = "n", exp: String = "2000"
    ) -> String {
        let payload = "{\"iss\":\"\(iss)\",\"aud\":\(aud),\"nonce\":\"\(nonce)\",\"exp\":\(exp)}"
        return "e30.\(Base64URL.encode(payload.utf8)).c2ln"
    }
}
