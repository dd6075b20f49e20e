/// The parameters of an enrolment by exchange: a token exchange that asks for an id_token of this broker. RFC 8693 §2.1.
public struct EnrolmentParameters: Sendable {
    /// The id_token of the login, as the identity provider gave it to this app.
    public let subjectToken: Credential
    public let subjectTokenType: TokenExchangeParameters.SubjectTokenType
    /// The `device_id` of the 2018 profile. `nil`: the current profile, whose device secret is made by the broker.
    public let deviceID: Credential?
    /// The issuer of the subject token, or an alias of it.
    public let audience: String
    public let scope: ScopeTokens?

    init(_ form: FormParameters) throws(ParameterDefect) {
        try form.refuse(TokenExchangeParameters.foreign)
        guard let subjectToken = form[Parameter.subjectToken] else { throw .subjectTokenMissing }
        subjectTokenType = try TokenExchangeParameters.subjectTokenType(form)
        deviceID = try Self.deviceID(form)
        audience = try TokenExchangeParameters.audience(form)
        try form.refuseResource()
        scope = try form.scopeTokens()
        self.subjectToken = Credential(subjectToken)
    }

    /// Whether `form` asks for an id_token.
    static func isAsked(by form: FormParameters) -> Bool {
        form[Parameter.requestedTokenType].flatMap(TokenTypeURI.init(octets:)) == .idToken
    }

    /// A `device_secret` does not exist before its enrolment, so none can be presented here.
    private static func deviceID(_ form: FormParameters) throws(ParameterDefect) -> Credential? {
        guard let text = form[Parameter.actorTokenType] else {
            guard form[Parameter.actorToken] == nil else { throw .actorTokenTypeMissing }
            return nil
        }
        guard TokenTypeURI(octets: text) == .deviceID else { throw .actorTokenTypeUnsupported }
        guard let device = form[Parameter.actorToken] else { throw .actorTokenMissing }
        return Credential(device)
    }
}
