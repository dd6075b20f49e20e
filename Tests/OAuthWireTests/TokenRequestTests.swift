import OAuthWire
import Testing

@Suite("Token requests: the form once into a value")
struct TokenRequestTests {
    private static let exchange: [(name: String, value: String)] = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", "https://idp.example.com"),
        ("subject_token", "eyJ.e30.c2ln"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("actor_token", "95twdf3w4y6wvftw35634t"),
        ("actor_token_type", "urn:x-oath:params:oauth:token-type:device-id"),
    ]

    private func read(_ parameters: [(name: String, value: String)]) throws -> TokenRequest {
        let form = try FormDecoder.decode(FormEncoder.encode(parameters))
        return try TokenRequest(form, grantType: GrantType(form))
    }

    private func exchange(_ changes: KeyValuePairs<String, String?>) throws -> TokenExchangeParameters? {
        var parameters = Self.exchange
        for (name, value) in changes {
            parameters.removeAll { $0.name == name }
            if let value { parameters.append((name, value)) }
        }
        guard case .tokenExchange(let read) = try read(parameters) else { return nil }
        return read
    }

    @Test("An exchange of the 2018 profile")
    func exchange() throws {
        let read = try #require(try exchange(["scope": "profile orders.read"]))
        #expect(read.subjectToken.secret == "eyJ.e30.c2ln")
        #expect(read.subjectTokenType == .idToken)
        #expect(read.actorToken.secret == "95twdf3w4y6wvftw35634t")
        #expect(read.actorTokenType == .deviceID)
        #expect(read.audience == "https://idp.example.com")
        #expect(read.scope?.tokens == ["profile", "orders.read"])
        #expect(!"\(read)".contains("95twdf"))
    }

    @Test("Each actor token type, and the hyphenated subject token type as such")
    func types() throws {
        let transitional = "urn:x-oath:params:oauth:token-type:device-secret"
        #expect(try exchange(["actor_token_type": transitional])?.actorTokenType == .deviceSecretTransitional)
        let current = "urn:openid:params:token-type:device-secret"
        #expect(try exchange(["actor_token_type": current])?.actorTokenType == .deviceSecret)
        let hyphen = "urn:ietf:params:oauth:token-type:id-token"
        #expect(try exchange(["subject_token_type": hyphen])?.subjectTokenType == .idTokenHyphenated)
        let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        #expect(try exchange(["requested_token_type": accessToken, "resource": ""]) != nil)
    }

    @Test(
        "What an exchange must not be",
        arguments: [
            ("subject_token", nil, ParameterDefect.subjectTokenMissing),
            ("subject_token", "", .subjectTokenMissing),
            ("subject_token_type", nil, .subjectTokenTypeMissing),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token", .subjectTokenTypeUnsupported),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:refresh_token", .subjectTokenTypeUnsupported),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:saml2", .subjectTokenTypeUnsupported),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt", .subjectTokenTypeUnsupported),
            ("subject_token_type", "URN:IETF:PARAMS:OAUTH:TOKEN-TYPE:ID_TOKEN", .subjectTokenTypeUnsupported),
            ("actor_token", nil, .actorTokenMissing), ("actor_token", "", .actorTokenMissing),
            ("actor_token_type", nil, .actorTokenTypeMissing),
            ("actor_token_type", "urn:x-oath:params:oauth:token-type:device_id", .actorTokenTypeUnsupported),
            ("actor_token_type", "urn:x-oath:params:oauth:token-type:device-id ", .actorTokenTypeUnsupported),
            ("actor_token_type", "urn:ietf:params:oauth:token-type:jwt", .actorTokenTypeUnsupported),
            ("actor_token_type", "URN:OPENID:PARAMS:TOKEN-TYPE:DEVICE-SECRET", .actorTokenTypeUnsupported),
            ("audience", nil, .audienceMissing), ("audience", "", .audienceMissing),
            ("resource", "https://payroll.internal", .resourcePresent),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id_token", .requestedTokenTypeUnsupported),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:jwt", .requestedTokenTypeUnsupported),
            ("scope", "a  b", .scopeMalformed), ("refresh_token", "nsr1.x", .foreignParameter),
            ("code", "x", .foreignParameter), ("device_secret", "x", .foreignParameter),
            ("password", "x", .foreignParameter),
        ] as [(String, String?, ParameterDefect)])
    func exchangeDefects(name: String, value: String?, defect: ParameterDefect) {
        #expect(throws: defect) { try exchange([name: value]) }
    }

    @Test(
        "Two audiences are a question of the target, whatever they say",
        arguments: ["https://b.example", "", "https://idp.example.com"])
    func audiences(second: String) {
        #expect(throws: ParameterDefect.audienceRepeated) { try read(Self.exchange + [("audience", second)]) }
    }

    @Test("A refresh; a device value beside it is ignored")
    func refresh() throws {
        let parameters = [
            ("grant_type", "refresh_token"), ("refresh_token", "nsr1.abc"), ("device_secret", "D2"), ("foo", "bar"),
        ]
        guard case .refreshToken(let read) = try read(parameters) else {
            Issue.record("not a refresh")
            return
        }
        #expect(read.refreshToken.secret == "nsr1.abc")
        #expect(read.scope == nil)
    }

    @Test(
        "What a refresh must not be",
        arguments: [
            ("subject_token", ParameterDefect.foreignParameter), ("subject_token_type", .foreignParameter),
            ("actor_token", .foreignParameter), ("actor_token_type", .foreignParameter),
            ("audience", .foreignParameter),
            ("requested_token_type", .foreignParameter), ("code", .foreignParameter),
            ("code_verifier", .foreignParameter),
            ("resource", .resourcePresent),
        ])
    func refreshDefects(name: String, defect: ParameterDefect) {
        #expect(throws: defect) { try read([("grant_type", "refresh_token"), ("refresh_token", "R"), (name, "x")]) }
        #expect(throws: Never.self) { try read([("grant_type", "refresh_token"), ("refresh_token", "R"), (name, "")]) }
    }

    @Test("A refresh without a token")
    func refreshTokenMissing() {
        #expect(throws: ParameterDefect.refreshTokenMissing) { try read([("grant_type", "refresh_token")]) }
        #expect(throws: ParameterDefect.refreshTokenMissing) {
            try read([("grant_type", "refresh_token"), ("refresh_token", "")])
        }
    }

    @Test(
        "Grant types match octet by octet",
        arguments: [
            ("", ParameterDefect.grantTypeMissing), ("password", .grantTypeUnknown),
            ("client_credentials", .grantTypeUnknown),
            ("Refresh_Token", .grantTypeUnknown), ("refresh_token ", .grantTypeUnknown),
            ("refresh_token\0", .grantTypeUnknown),
            (" refresh_token", .grantTypeUnknown),
            ("refresh_to\u{212A}en", .grantTypeUnknown),
            ("URN:IETF:PARAMS:OAUTH:GRANT-TYPE:TOKEN-EXCHANGE", .grantTypeUnknown),
            ("urn:ietf:params:oauth:grant-type:jwt-bearer", .grantTypeUnknown),
            ("authorization_code", .grantTypeUnknown),
        ])
    func grantTypes(text: String, defect: ParameterDefect) {
        #expect(throws: defect) { try read([("grant_type", text), ("refresh_token", "R"), ("code", "c")]) }
    }
}
