import OAuthWire
import Testing

@Suite("Enrolment by exchange: the form once into a value")
struct EnrolmentParametersTests {
    private static let idToken = "urn:ietf:params:oauth:token-type:id_token"
    private static let deviceID = "urn:x-oath:params:oauth:token-type:device-id"

    private func read(_ changes: [(String, String?)], enrols: Bool = true) throws -> EnrolmentParameters? {
        var parameters: [(name: String, value: String)] = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("audience", "https://idp.example.com"),
            ("subject_token", "eyJ.e30.c2ln"), ("subject_token_type", Self.idToken),
            ("requested_token_type", Self.idToken), ("scope", "openid device_sso"),
        ]
        for (name, value) in changes {
            parameters.removeAll { $0.name == name }
            if let value { parameters.append((name, value)) }
        }
        let form = try FormDecoder.decode(FormEncoder.encode(parameters))
        guard case .enrolment(let read) = try TokenRequest(form, grantType: GrantType(form), enrols: enrols) else {
            return nil
        }
        return read
    }

    @Test("Both profiles") func profiles() throws {
        let current = try #require(try read([]))
        #expect(current.deviceID == nil && current.scope?.tokens == ["openid", "device_sso"])
        #expect(current.subjectToken.secret == "eyJ.e30.c2ln" && current.audience == "https://idp.example.com")
        let older = try #require(
            try read([("actor_token", "95twdf3w4y6wvftw35634t"), ("actor_token_type", Self.deviceID), ("scope", nil)]))
        #expect(older.deviceID?.secret == "95twdf3w4y6wvftw35634t" && older.scope == nil)
    }

    @Test("Anything but an id_token is an ordinary exchange, and where nobody enrols that is one, too") func others() {
        #expect(throws: ParameterDefect.actorTokenMissing) { try read([("requested_token_type", nil)]) }
        #expect(throws: ParameterDefect.actorTokenMissing) { try read([], enrols: false) }
        #expect(throws: ParameterDefect.requestedTokenTypeUnsupported) {
            try read([("actor_token", "x"), ("actor_token_type", Self.deviceID)], enrols: false)
        }
    }

    @Test(
        "What an enrolment must not be",
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
        #expect(throws: defect) { try read([(name, value)]) }
    }
}
