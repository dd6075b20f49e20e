/// The parameters of a code request. RFC 6749 §4.1.3, RFC 7636 §4.5, Native SSO §3.2 and the 2018 profile.
public struct CodeParameters: Sendable {
    public let code: Credential
    /// Required here, although not every identity provider asks for it: it is what binds a code to the app's own address.
    public let redirectURI: String
    public let codeVerifier: Credential
    /// The `device_id` of the 2018 profile.
    public let deviceID: Credential?
    /// The issuer that gave the code, or an alias of it; `nil`: there is but one.
    public let audience: String?
    public let scope: ScopeTokens?

    /// Parameters of other grants. `device_secret` is not among them: an app may send the one it has with any token request
    /// (Native SSO §3.4), and here it always gets a new one, as if it had sent none.
    private static let foreign = [
        Parameter.subjectToken, Parameter.subjectTokenType, Parameter.actorToken, Parameter.actorTokenType,
        Parameter.requestedTokenType, Parameter.refreshToken, Parameter.username, Parameter.password,
        Parameter.assertion,
    ]

    init(_ form: FormParameters) throws(ParameterDefect) {
        try form.refuse(Self.foreign)
        guard let code = form[Parameter.code] else { throw .codeMissing }
        guard let redirectURI = form[Parameter.redirectURI] else { throw .redirectURIMissing }
        guard let codeVerifier = form[Parameter.codeVerifier] else { throw .codeVerifierMissing }
        self.code = Credential(code)
        self.redirectURI = redirectURI
        self.codeVerifier = Credential(codeVerifier)
        deviceID = form[Parameter.deviceID].map(Credential.init)
        audience = form.values(of: Parameter.audience).isEmpty ? nil : try TokenExchangeParameters.audience(form)
        try form.refuseResource()
        scope = try form.scopeTokens()
    }
}
