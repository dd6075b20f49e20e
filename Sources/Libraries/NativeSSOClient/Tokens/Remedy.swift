public import OAuthWire

/// What an app asks a token endpoint for.
public enum TokenOperation: Sendable {
    case redeemCode, exchange, refresh
}

/// What an app does next.
public enum Remedy: Sendable, Equatable {
    /// The same again, after a pause; everything the app holds stays good.
    case retry(after: Duration?)
    /// The refresh token is dead; the login may still live.
    case exchangeAgain
    /// The login is dead, or never was.
    case logIn
    /// The user has to act in the browser: consent, or a login as described.
    case openBrowser(LoginDemand)
    /// A mistake in the app or its registration. Trying again changes nothing.
    case none
}

extension ClientError {
    /// Decided by the status first: a server in trouble may say anything, and an app that believed it would throw its login
    /// away.
    public func remedy(after operation: TokenOperation) -> Remedy {
        switch self {
        case .noAnswer: .retry(after: nil)
        case .unavailable(_, let retryAfter): .retry(after: retryAfter)
        case .unexpectedAnswer, .keychain, .proofKey: .retry(after: nil)
        case .notLoggedIn, .untrustedIDToken: .logIn
        case .refused(let refusal): refusal.remedy(after: operation)
        }
    }
}

extension TokenRefusal {
    /// `error`, if it is one that this library knows.
    public var code: OAuthErrorCode? { OAuthErrorCode(rawValue: error) }

    func remedy(after operation: TokenOperation) -> Remedy {
        switch code {
        case .invalidGrant: operation == .refresh ? .exchangeAgain : .logIn
        case .interactionRequired: .openBrowser(demand)
        case .temporarilyUnavailable, .serverError: .retry(after: nil)
        // Asked for twice in a row: the answers that hold the nonces do not come through.
        case .useDPoPNonce: .retry(after: nil)
        case .invalidRequest, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .invalidTarget,
            nil:
            .none
        // The refresh token is for a key that this app no longer has. The login itself may be, too; the exchange says so.
        case .invalidDPoPProof: operation == .refresh ? .exchangeAgain : .none
        }
    }
}
