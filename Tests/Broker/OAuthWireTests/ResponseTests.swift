import OAuthWire
import Testing

@Suite("Bodies of refusals")
struct ResponseTests {
    @Test("A refusal has fixed octets")
    func refusal() {
        let response = OAuthErrorResponse(.invalidGrant, "The subject token or actor token cannot be used.")
        #expect(
            String(decoding: response.json, as: UTF8.self)
                == #"{"error":"invalid_grant","error_description":"The subject token or actor token cannot be used."}"#)
    }

    @Test("A refusal for a stronger login names what is needed and where to log in")
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
