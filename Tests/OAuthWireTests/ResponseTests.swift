import OAuthWire
import Testing

@Suite("Bodies of answers, octet by octet")
struct ResponseTests {
    @Test("Success of an exchange")
    func exchange() {
        let response = TokenResponse(
            accessToken: "AT", issuedTokenType: .accessToken, tokenType: .bearer, expiresIn: 300,
            scope: "profile orders.read", refreshToken: "RT", idToken: "IDT")
        #expect(
            String(decoding: response.json, as: UTF8.self)
                == #"{"access_token":"AT","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","#
                + #""token_type":"Bearer","expires_in":300,"scope":"profile orders.read","refresh_token":"RT","id_token":"IDT"}"#
        )
        #expect("\(response)" == "TokenResponse(****)")
    }

    @Test("Success of a refresh has no issued_token_type")
    func refresh() {
        let response = TokenResponse(
            accessToken: "AT", issuedTokenType: nil, tokenType: .dpop, expiresIn: 300, scope: "a", refreshToken: "RT")
        #expect(
            String(decoding: response.json, as: UTF8.self)
                == #"{"access_token":"AT","token_type":"DPoP","expires_in":300,"scope":"a","refresh_token":"RT"}"#)
    }

    @Test("A refusal")
    func refusal() {
        let response = OAuthErrorResponse(.invalidGrant, "The subject token or actor token cannot be used.")
        #expect(
            String(decoding: response.json, as: UTF8.self)
                == #"{"error":"invalid_grant","error_description":"The subject token or actor token cannot be used."}"#)
    }

    @Test("A refusal that asks for a stronger login says which")
    func stepUp() {
        let response = OAuthErrorResponse(
            .interactionRequired, "x", contextClasses: ["urn:a", "urn:b"], maximumAuthenticationAge: 600,
            authorizationURI: "https://idp.example/a?b=c")
        #expect(
            String(decoding: response.json, as: UTF8.self)
                == #"{"error":"interaction_required","error_description":"x","acr_values":"urn:a urn:b","max_age":600,"#
                + #""authorization_uri":"https://idp.example/a?b=c"}"#)
    }

    @Test("Every error code fits the character set of RFC 6749 §5.2", arguments: OAuthErrorCode.allCases)
    func codes(code: OAuthErrorCode) {
        #expect(code.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
    }
}
