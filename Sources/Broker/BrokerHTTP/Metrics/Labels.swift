import OAuthWire

/// What a token request asked for, as a label: a closed set, so that no caller can make a series.
public enum GrantLabel: String, Sendable, CaseIterable {
    case tokenExchange = "token_exchange"
    /// An exchange for an id_token of this broker.
    case enrolment
    case refreshToken = "refresh_token"
    case authorizationCode = "authorization_code"
    /// The request did not come as far as a known grant type.
    case none

    init(_ grantType: GrantType) {
        switch grantType {
        case .tokenExchange: self = .tokenExchange
        case .refreshToken: self = .refreshToken
        case .authorizationCode: self = .authorizationCode
        }
    }
}

public enum OutcomeLabel: String, Sendable, CaseIterable {
    case granted
    case refused
    case unavailable
    case failed
}
