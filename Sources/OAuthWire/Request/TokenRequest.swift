/// A token request, read from the form once. After this nobody reads the form.
public enum TokenRequest: Sendable {
    case tokenExchange(TokenExchangeParameters)
    case enrolment(EnrolmentParameters)
    case refreshToken(RefreshParameters)
    case authorizationCode(CodeParameters)

    /// - Parameter grantType: As the form says; the client has been identified in between, because a caller without a
    ///   client is told so before anything about its parameters.
    /// - Parameter enrols: Whether an exchange may ask for an id_token.
    /// - Parameter relaysCodes: Whether codes are redeemed.
    public init(
        _ form: FormParameters, grantType: GrantType, enrols: Bool = false, relaysCodes: Bool = false
    ) throws(ParameterDefect) {
        switch grantType {
        case .tokenExchange where enrols && EnrolmentParameters.isAsked(by: form):
            self = .enrolment(try EnrolmentParameters(form))
        case .tokenExchange: self = .tokenExchange(try TokenExchangeParameters(form))
        case .refreshToken: self = .refreshToken(try RefreshParameters(form))
        case .authorizationCode:
            guard relaysCodes else { throw .grantTypeUnknown }
            self = .authorizationCode(try CodeParameters(form))
        }
    }
}

extension FormParameters {
    func refuse(_ names: [String]) throws(ParameterDefect) {
        for name in names where self[name] != nil { throw .foreignParameter }
    }

    func scopeTokens() throws(ParameterDefect) -> ScopeTokens? {
        guard let text = self[Parameter.scope] else { return nil }
        guard let scope = ScopeTokens(text) else { throw .scopeMalformed }
        return scope
    }

    /// RFC 8707 lets the caller choose a target; here the client's registration does.
    func refuseResource() throws(ParameterDefect) {
        guard values(of: Parameter.resource).allSatisfy(\.isEmpty) else { throw .resourcePresent }
    }
}
