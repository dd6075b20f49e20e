public import OAuthWire

/// A request to a token endpoint.
public enum TokenOperation: Sendable {
    /// RFC 6749 §4.1.3; RFC 8693 §2.1; RFC 6749 §6.
    case redeemCode, exchange, refresh
}

/// The app's next step after an error.
public enum Remedy: Sendable, Equatable {
    /// Repeat the request after a pause; nil: choose one. Keep all stored values.
    case retry(after: Duration?)
    /// The refresh token is invalid; the session may still live.
    case exchangeAgain
    /// The session has ended, or never existed. Start at most one login by yourself: if the next error says so again,
    /// wait until the user asks. ``AppLogin/send(_:loggingInWith:)`` keeps this rule.
    case logIn
    /// The user must act in the browser: consent, or a login that meets the demand.
    case openBrowser(LoginDemand)
    /// The app, its version or its registration is wrong. A retry does not help.
    case none
}

extension ClientError {
    /// The app's next step after this error. The status decides first: if apps trusted the body of a failing server,
    /// they would delete valid logins.
    public func remedy(after operation: TokenOperation) -> Remedy {
        switch self {
        case .noAnswer: .retry(after: nil)
        case .unavailable(_, let retryAfter): .retry(after: retryAfter)
        case .unexpectedAnswer, .keychain, .proofKey, .untrustedMetadata(.malformed): .retry(after: nil)
        case .notLoggedIn, .untrustedIDToken, .otherUserInfo, .callback, .browser, .silentLoginTimedOut,
            .keychainItem(.corrupt):
            .logIn
        case .untrustedMetadata, .insecureAddress, .keychainItem(.newerVersion): .none
        case .refused(let refusal): refusal.remedy(after: operation)
        }
    }
}

extension TokenRefusal {
    /// The error code; nil if this library does not know it.
    public var code: OAuthErrorCode? { OAuthErrorCode(rawValue: error) }

    func remedy(after operation: TokenOperation) -> Remedy {
        switch code {
        case .invalidGrant: operation == .refresh ? .exchangeAgain : .logIn
        case .interactionRequired: .openBrowser(demand)
        case .temporarilyUnavailable, .serverError: .retry(after: nil)
        // Required twice in a row: the fresh nonces do not reach the app.
        case .useDPoPNonce: .retry(after: nil)
        case .invalidRequest, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .invalidTarget,
            .unsupportedTokenType, .invalidToken, nil:
            .none
        // The refresh token is bound to a key that the app has lost. The exchange shows whether the login is usable.
        case .invalidDPoPProof: operation == .refresh ? .exchangeAgain : .none
        }
    }
}
