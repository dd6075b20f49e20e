@testable import BrokerHTTP
import BrokerTesting
@testable import NativeSSO
import OAuthWire
import Testing

@Suite("Token requests: reading the form")
struct TokenRequestTests {
    private static let exchange = Requests.changed(Requests.exchange, [("client_id", nil)])

    private func exchange(_ changes: [(String, String?)] = []) throws -> ExchangeRequest {
        try TokenRequestReader(form: .of(Self.exchange, changes)).exchange()
    }

    private func refresh(_ parameters: [(name: String, value: String)]) throws -> RefreshRequest {
        try TokenRequestReader(form: .of([("grant_type", "refresh_token")] + parameters)).refresh()
    }

    @Test("An exchange of the 2018 profile is read")
    func exchange() throws {
        let read = try exchange([("scope", "profile orders.read")])
        #expect(read.subjectToken.octets == Array("eyJhbGciOiJSUzI1NiJ9.e30.c2ln".utf8))
        #expect(read.profile == .deviceID && read.issuer.issuer == Domain.issuer)
        #expect(read.scope?.tokens == ["profile", "orders.read"])
        #expect(!"\(read)".contains("95twdf"))
    }

    @Test("Each actor token type and every name of the issuer are read")
    func types() throws {
        let transitional = "urn:x-oath:params:oauth:token-type:device-secret"
        #expect(try exchange([("actor_token_type", transitional)]).profile == .deviceSecretTransitional)
        let current = "urn:openid:params:token-type:device-secret"
        #expect(try exchange([("actor_token_type", current)]).profile == .deviceSecret)
        let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        #expect(refusal { try exchange([("requested_token_type", accessToken), ("resource", "")]) } == nil)
        #expect(try exchange([("audience", "api://default")]).issuer.issuer == Domain.issuer)
    }

    @Test("D-06 the hyphenated subject token type needs the 2018 profile and the issuer's permission")
    func hyphen() {
        let hyphen: String? = "urn:ietf:params:oauth:token-type:id-token"
        let current = "urn:openid:params:token-type:device-secret"
        let lenient = IssuerPolicy(
            issuer: Domain.issuer, profiles: Set(Profile.allCases), acceptsHyphenatedIDTokenType: true)
        func refused(at issuer: IssuerPolicy, _ changes: [(String, String?)] = []) -> String? {
            refusal {
                let form = try FormParameters.of(Self.exchange, [("subject_token_type", hyphen)] + changes)
                return try TokenRequestReader(form: form, issuers: [issuer]).exchange()
            }
        }
        #expect(refused(at: lenient) == nil)
        #expect(refused(at: lenient, [("actor_token_type", current)]) == "subject_token_type_hyphenated")
        #expect(refused(at: TokenRequestReader.testIssuer) == "subject_token_type_hyphenated")
    }

    @Test("An exchange and a refresh ignore the redirect_uri and verifier that an SDK sends with every request")
    func harmlessParameters() throws {
        let harmless = [("redirect_uri", "com.example:/callback"), ("code_verifier", "v")]
        #expect(try exchange(harmless.map { ($0.0, Optional($0.1)) }).profile == .deviceID)
        #expect(try refresh([("refresh_token", "nsr1.abc")] + harmless.map { (name: $0.0, value: $0.1) }).scope == nil)
    }

    @Test("A refresh asks for no other token; an empty parameter of another grant is ignored")
    func refreshDefects() {
        let token = [(name: "refresh_token", value: "R")]
        let asks = refusal { try refresh(token + [("requested_token_type", "x")]) }
        #expect(asks == Refusal.parameter(.foreignParameter).reason)
        for name in ["subject_token", "audience", "code"] {
            #expect(refusal { try refresh(token + [(name, "")]) } == nil, "\(name)")
        }
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
        let foreign = Refusal.parameter(.resourceForeign).reason
        #expect(refusal { try exchange([("resource", resource + "/")]) } == foreign)
    }
}

extension FormParameters {
    /// The parameters after encoding and decoding.
    static func of(_ parameters: Requests.Parameters, _ changes: [(String, String?)] = []) throws -> FormParameters {
        try FormDecoder.decode(FormEncoder.encode(Requests.changed(parameters, changes)))
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
    static let testIssuer = IssuerPolicy(
        issuer: Domain.issuer, audienceAliases: ["api://default"], profiles: Set(Profile.allCases),
        enrolsByExchange: true)

    /// For a public client, at one issuer with all profiles and enrolment.
    init(form: FormParameters, issuers: [IssuerPolicy] = [TokenRequestReader.testIssuer]) {
        self.init(
            form: form, client: Domain.client("app-two"), proof: nil, assertion: nil, requestID: .random(),
            issuers: issuers)
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
