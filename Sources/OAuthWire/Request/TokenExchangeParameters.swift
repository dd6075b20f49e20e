/// The parameters of a Native SSO token exchange. RFC 8693 §2.1, Native SSO §4.1.
public struct TokenExchangeParameters: Sendable {
    /// How `subject_token_type` named the id_token.
    public enum SubjectTokenType: Sendable {
        case idToken
        /// `…:id-token`: to be accepted only where the issuer is configured so, and only in the 2018 profile.
        case idTokenHyphenated
    }

    /// The type of the actor token. It selects the profile.
    public enum ActorTokenType: Sendable, CaseIterable {
        case deviceID
        case deviceSecretTransitional
        case deviceSecret
    }

    public let subjectToken: Credential
    public let subjectTokenType: SubjectTokenType
    public let actorToken: Credential
    public let actorTokenType: ActorTokenType
    /// The issuer of the subject token, or an alias of it.
    public let audience: String
    public let scope: ScopeTokens?

    /// Parameters of other grants. `device_secret` and `device_id` belong to a code request: here the device value is the
    /// `actor_token`, and a second one would be a question of which counts.
    static let foreign = [
        Parameter.refreshToken, Parameter.code, Parameter.redirectURI, Parameter.codeVerifier, Parameter.username,
        Parameter.password, Parameter.assertion, Parameter.deviceID, Parameter.deviceSecret,
    ]

    init(_ form: FormParameters) throws(ParameterDefect) {
        try form.refuse(Self.foreign)
        guard let subjectToken = form[Parameter.subjectToken] else { throw .subjectTokenMissing }
        subjectTokenType = try Self.subjectTokenType(form)
        guard let actorToken = form[Parameter.actorToken] else { throw .actorTokenMissing }
        actorTokenType = try Self.actorTokenType(form)
        audience = try Self.audience(form)
        try Self.checkRequestedTokenType(form)
        try form.refuseResource()
        scope = try form.scopeTokens()
        self.subjectToken = Credential(subjectToken)
        self.actorToken = Credential(actorToken)
    }

    static func subjectTokenType(_ form: FormParameters) throws(ParameterDefect) -> SubjectTokenType {
        guard let text = form[Parameter.subjectTokenType] else { throw .subjectTokenTypeMissing }
        switch TokenTypeURI(octets: text) {
        case .idToken: return .idToken
        case .idTokenHyphenated: return .idTokenHyphenated
        case .accessToken, .refreshToken, .saml1, .saml2, .jwt, .deviceID, .deviceSecretTransitional, .deviceSecret,
            nil:
            throw .subjectTokenTypeUnsupported
        }
    }

    private static func actorTokenType(_ form: FormParameters) throws(ParameterDefect) -> ActorTokenType {
        guard let text = form[Parameter.actorTokenType] else { throw .actorTokenTypeMissing }
        switch TokenTypeURI(octets: text) {
        case .deviceID: return .deviceID
        case .deviceSecretTransitional: return .deviceSecretTransitional
        case .deviceSecret: return .deviceSecret
        case .accessToken, .refreshToken, .idToken, .idTokenHyphenated, .saml1, .saml2, .jwt, nil:
            throw .actorTokenTypeUnsupported
        }
    }

    /// Exactly one: RFC 8693 allows several, Native SSO §4.1 names the issuer. `audience=&audience=x` is two.
    static func audience(_ form: FormParameters) throws(ParameterDefect) -> String {
        let values = form.values(of: Parameter.audience)
        guard values.count <= 1 else { throw .audienceRepeated }
        guard let audience = values.first, !audience.isEmpty else { throw .audienceMissing }
        return audience
    }

    private static func checkRequestedTokenType(_ form: FormParameters) throws(ParameterDefect) {
        guard let text = form[Parameter.requestedTokenType] else { return }
        guard TokenTypeURI(octets: text) == .accessToken else { throw .requestedTokenTypeUnsupported }
    }
}
