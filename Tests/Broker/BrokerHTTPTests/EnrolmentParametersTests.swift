@testable import BrokerHTTP
import NativeSSO
import OAuthWire
import Testing

@Suite("Enrolment by exchange: reading the form")
struct EnrolmentParametersTests {
    private static let idToken = "urn:ietf:params:oauth:token-type:id_token"
    private static let deviceID = "urn:x-oath:params:oauth:token-type:device-id"

    private func read(_ changes: [(String, String?)]) throws -> EnrolmentRequest {
        let parameters: [(name: String, value: String)] = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("audience", "https://idp.example.com"),
            ("subject_token", "eyJ.e30.c2ln"), ("subject_token_type", Self.idToken),
            ("requested_token_type", Self.idToken), ("scope", "openid device_sso"),
        ]
        let reader = TokenRequestReader(form: try .of(parameters, changes))
        #expect(reader.asksForIDToken)
        return try reader.enrolment()
    }

    @Test(
        "Malformed enrolments are refused",
        arguments: [
            ("subject_token", nil, ParameterDefect.subjectTokenMissing),
            ("subject_token_type", nil, .subjectTokenTypeMissing),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token", .subjectTokenTypeUnsupported),
            ("actor_token", "95twdf3w4y6wvftw35634t", .actorTokenTypeMissing),
            ("actor_token_type", deviceID, .actorTokenMissing),
            ("actor_token_type", "urn:openid:params:token-type:device-secret", .actorTokenTypeUnsupported),
            ("actor_token_type", "urn:x-oath:params:oauth:token-type:device-secret", .actorTokenTypeUnsupported),
            ("audience", nil, .audienceMissing), ("resource", "https://a.example", .resourcePresent),
            ("scope", "a  b", .scopeMalformed), ("device_secret", "x", .foreignParameter),
            ("device_id", "x", .foreignParameter), ("code", "x", .foreignParameter),
        ] as [(String, String?, ParameterDefect)])
    func defects(name: String, value: String?, defect: ParameterDefect) {
        #expect(refusal { try read([(name, value)]) } == Refusal.parameter(defect).reason)
    }
}
