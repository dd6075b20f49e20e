/// The parameters of a refresh. RFC 6749 §6.
public struct RefreshParameters: Sendable {
    public let refreshToken: Credential
    public let scope: ScopeTokens?

    /// Parameters of other grants. `device_secret` and `device_id` are not among them: they are ignored (Native SSO §3.4 lets
    /// an app send its secret with every token request), and never bind this chain to anything.
    private static let foreign = [
        Parameter.subjectToken, Parameter.subjectTokenType, Parameter.actorToken, Parameter.actorTokenType,
        Parameter.requestedTokenType, Parameter.code, Parameter.redirectURI, Parameter.codeVerifier,
        Parameter.username, Parameter.password, Parameter.assertion,
    ]

    init(_ form: FormParameters) throws(ParameterDefect) {
        try form.refuse(Self.foreign)
        guard form.values(of: Parameter.audience).allSatisfy(\.isEmpty) else { throw .foreignParameter }
        guard let refreshToken = form[Parameter.refreshToken] else { throw .refreshTokenMissing }
        try form.refuseResource()
        scope = try form.scopeTokens()
        self.refreshToken = Credential(refreshToken)
    }
}
