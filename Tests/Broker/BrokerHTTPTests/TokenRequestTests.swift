@testable import BrokerHTTP
import BrokerTesting
@testable import NativeSSO
import OAuthWire
import Testing

@Suite("Token requests: reading the form")
struct TokenRequestTests {
    private static let exchange: [(name: String, value: String)] = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", "https://idp.example.com"),
        ("subject_token", "eyJ.e30.c2ln"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("actor_token", "95twdf3w4y6wvftw35634t"),
        ("actor_token_type", "urn:x-oath:params:oauth:token-type:device-id"),
    ]

    private func exchange(_ changes: [(String, String?)] = []) throws -> ExchangeRequest {
        try TokenRequestReader(form: .of(Self.exchange, changes)).exchange()
    }

    private func refresh(_ parameters: [(name: String, value: String)]) throws -> RefreshRequest {
        try TokenRequestReader(form: .of([("grant_type", "refresh_token")] + parameters)).refresh()
    }

    @Test("An exchange of the 2018 profile is read")
    func exchange() throws {
        let read = try exchange([("scope", "profile orders.read")])
        #expect(read.subjectToken.octets == Array("eyJ.e30.c2ln".utf8))
        #expect(read.profile == .deviceID && read.issuer.issuer == Domain.issuer)
        #expect(read.scope?.tokens == ["profile", "orders.read"])
        #expect(!"\(read)".contains("95twdf"))
    }

    @Test("Each actor token type and the hyphenated subject token type are read")
    func types() throws {
        let transitional = "urn:x-oath:params:oauth:token-type:device-secret"
        #expect(try exchange([("actor_token_type", transitional)]).profile == .deviceSecretTransitional)
        let current = "urn:openid:params:token-type:device-secret"
        #expect(try exchange([("actor_token_type", current)]).profile == .deviceSecret)
        let hyphen = "urn:ietf:params:oauth:token-type:id-token"
        #expect(refusal { try exchange([("subject_token_type", hyphen)]) } == "subject_token_type_hyphenated")
        let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        #expect(refusal { try exchange([("requested_token_type", accessToken), ("resource", "")]) } == nil)
    }

    @Test(
        "Malformed exchanges are refused",
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
            ("resource", "https://payroll.internal", .resourceForeign),
            ("resource", "https://api.example.com/", .resourceForeign),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id_token", .requestedTokenTypeUnsupported),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:jwt", .requestedTokenTypeUnsupported),
            ("scope", "a  b", .scopeMalformed), ("refresh_token", "nsr1.x", .foreignParameter),
            ("code", "x", .foreignParameter), ("device_secret", "x", .foreignParameter),
            ("password", "x", .foreignParameter),
        ] as [(String, String?, ParameterDefect)])
    func exchangeDefects(name: String, value: String?, defect: ParameterDefect) {
        #expect(refusal { try exchange([(name, value)]) } == Refusal.parameter(defect).reason)
    }

    @Test(
        "Two audiences get invalid_target, even if they are equal",
        arguments: ["https://b.example", "", "https://idp.example.com"])
    func audiences(second: String) {
        #expect(
            refusal { try TokenRequestReader(form: .of(Self.exchange + [("audience", second)])).exchange() }
                == Refusal.parameter(.audienceRepeated).reason)
    }

    @Test("An exchange and a refresh ignore the redirect_uri and verifier that an SDK sends with every request")
    func harmlessParameters() throws {
        let harmless = [("redirect_uri", "com.example:/callback"), ("code_verifier", "v")]
        #expect(try exchange(harmless.map { ($0.0, Optional($0.1)) }).profile == .deviceID)
        #expect(try refresh([("refresh_token", "nsr1.abc")] + harmless.map { (name: $0.0, value: $0.1) }).scope == nil)
    }

    @Test("A refresh is read, and a device value beside it is ignored")
    func refresh() throws {
        let read = try refresh([("refresh_token", "nsr1.abc"), ("device_secret", "D2"), ("foo", "bar")])
        #expect(read.refreshToken == "nsr1.abc" && read.scope == nil)
    }

    @Test(
        "Malformed refreshes are refused",
        arguments: [
            ("subject_token", ParameterDefect.foreignParameter), ("subject_token_type", .foreignParameter),
            ("actor_token", .foreignParameter), ("actor_token_type", .foreignParameter),
            ("audience", .foreignParameter),
            ("requested_token_type", .foreignParameter), ("code", .foreignParameter),
            ("username", .foreignParameter),
        ])
    func refreshDefects(name: String, defect: ParameterDefect) {
        #expect(
            refusal { try refresh([("refresh_token", "R"), (name, "x")]) } == Refusal.parameter(defect).reason)
        #expect(refusal { try refresh([("refresh_token", "R"), (name, "")]) } == nil)
    }

    @Test("One resource, at most: RFC 8707")
    func resource() throws {
        let resource = "https://api.example.com"
        #expect(try exchange([("resource", resource)]).resource == resource)
        #expect(
            try refresh([("refresh_token", "R"), ("resource", "https://any.example")]).resource == "https://any.example"
        )
        let twice = [("resource", resource), ("resource", resource)].map { (name: $0.0, value: $0.1) }
        let repeated = Refusal.parameter(.resourceRepeated).reason
        #expect(refusal { try TokenRequestReader(form: .of(Self.exchange + twice)).exchange() } == repeated)
        #expect(refusal { try refresh([("refresh_token", "R")] + twice) } == repeated)
    }

    @Test("A refresh without a token is refused")
    func refreshTokenMissing() {
        let missing = Refusal.parameter(.refreshTokenMissing).reason
        #expect(refusal { try refresh([]) } == missing)
        #expect(refusal { try refresh([("refresh_token", "")]) } == missing)
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
        ])
    func grantTypes(text: String, defect: ParameterDefect) {
        #expect(
            refusal { try TokenRequestReader.grantType(.of([("grant_type", text), ("refresh_token", "R")])) }
                == Refusal.parameter(defect).reason)
    }
}

extension FormParameters {
    /// The parameters after encoding and decoding.
    static func of(
        _ parameters: [(name: String, value: String)], _ changes: [(String, String?)] = []
    ) throws -> FormParameters {
        var parameters = parameters
        for (name, value) in changes {
            parameters.removeAll { $0.name == name }
            if let value { parameters.append((name, value)) }
        }
        return try FormDecoder.decode(FormEncoder.encode(parameters))
    }
}

/// Which IdP gets a code without `audience`.
@Suite("Code requests at several identity providers")
struct RelayChoiceTests {
    private static let (a, b, c) = (
        Issuer(validated: "https://a.example"), Issuer(validated: "https://b.example"),
        Issuer(validated: "https://c.example")
    )

    /// - Parameter relays: The IdPs with a code relay; `c` has none.
    private func issuer(
        audience: String? = nil, relays: [Issuer] = [a, b], disabled: Issuer? = nil, groupsAt providers: Set<Issuer>
    ) throws -> Issuer {
        let form = try FormParameters.of(
            [
                ("grant_type", "authorization_code"), ("code", "c"), ("redirect_uri", "https://app.example/cb"),
                ("code_verifier", "v"),
            ], [("audience", audience)])
        let issuers = [Self.a, Self.b, Self.c].map {
            IssuerPolicy(
                issuer: $0, profiles: [.deviceSecret], codeRelay: relays.contains($0) ? CodeRelayPolicy() : nil,
                isDisabled: $0 == disabled)
        }
        return try TokenRequestReader(
            form: form, client: Domain.client("app-one"), proof: nil, assertion: nil, requestID: .random(),
            issuers: issuers
        ).code(origin: nil, at: providers).issuer.issuer
    }

    @Test("The only one with a relay gets every code")
    func onlyRelay() throws {
        for providers in [[], [Self.a], [Self.b], [Self.a, Self.b]] as [Set<Issuer>] {
            #expect(try issuer(relays: [Self.a], groupsAt: providers) == Self.a)
        }
    }

    @Test("Of several, the one of the client's groups")
    func groups() throws {
        #expect(try issuer(groupsAt: [Self.a]) == Self.a)
        #expect(try issuer(groupsAt: [Self.b]) == Self.b)
        // Codes of `c` are not redeemed here, so a group there leaves one choice.
        #expect(try issuer(groupsAt: [Self.b, Self.c]) == Self.b)
    }

    @Test("Without a single choice, the client names it")
    func unclear() throws {
        for providers in [[], [Self.a, Self.b], [Self.c]] as [Set<Issuer>] {
            #expect(refusal { try issuer(groupsAt: providers) } == "audience_missing")
            #expect(try issuer(audience: Self.b.string, groupsAt: providers) == Self.b)
        }
        #expect(refusal { try issuer(relays: [], groupsAt: [Self.a]) } == "audience_missing")
    }

    @Test("A disabled one gets no code, whether or not the client names it")
    func disabled() throws {
        #expect(try issuer(disabled: Self.b, groupsAt: [Self.a, Self.b]) == Self.a)
        #expect(
            refusal { try issuer(audience: Self.b.string, disabled: Self.b, groupsAt: [Self.b]) } == "idp_disabled")
    }

    @Test("The name that the client gives wins")
    func named() throws {
        #expect(try issuer(audience: Self.b.string, groupsAt: [Self.a]) == Self.b)
        #expect(refusal { try issuer(audience: Self.c.string, groupsAt: [Self.a]) } == "code_relay_not_enabled")
    }
}

extension TokenRequestReader {
    /// For a public client, at one issuer with all profiles and enrolment.
    init(form: FormParameters) {
        self.init(
            form: form, client: Domain.client("app-two"), proof: nil, assertion: nil, requestID: .random(),
            issuers: [
                IssuerPolicy(issuer: Domain.issuer, profiles: Set(Profile.allCases), enrolsByExchange: true)
            ])
    }
}

/// The refusal as text; `nil` if there is none.
func refusal<Value>(_ body: () throws -> Value) -> String? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? Refusal)?.reason ?? "\(error)"
    }
}
