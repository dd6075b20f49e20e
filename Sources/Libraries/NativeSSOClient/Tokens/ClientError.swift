/// Why an app has no token. What to do about it: ``remedy(after:)``.
public enum ClientError: Error, Sendable {
    /// No answer came. It may have been lost on its way back, so nothing may be thrown away.
    case noAnswer(any Error)
    /// 429 or 5xx. Whatever the body says, it is no refusal.
    case unavailable(status: Int, retryAfter: Duration?)
    case refused(TokenRefusal)
    /// An answer that no token endpoint gives: a captive portal, a proxy's error page.
    case unexpectedAnswer(status: Int)
    case untrustedIDToken(IDTokenDefect)
    /// Nobody has logged in on this device, or not with one of this vendor's apps.
    case notLoggedIn
    case keychain(any Error)
    /// The proof key did not sign.
    case proofKey(any Error)

    public enum IDTokenDefect: Sendable {
        case missing, malformed, otherIssuer, otherAudience, otherNonce, expired
    }
}

/// A refusal by the token endpoint, RFC 6749 §5.2.
public struct TokenRefusal: Sendable, Equatable {
    public let status: Int
    /// `error`, as sent.
    public let error: String
    public let description: String?
    /// `X-Request-Id`.
    public let requestID: String?
    /// Beside `interaction_required`.
    public let demand: LoginDemand
}

/// What a login in the browser has to satisfy.
public struct LoginDemand: Sendable, Equatable {
    /// `acr_values`: any one of them, in the order of preference; empty: any.
    public let contextClasses: [String]
    /// `max_age`: seconds since the user proved who they are.
    public let maximumAge: Int64?
    /// The authorization request but for what the app adds: see ``LoginAttempt/address(completing:)``. `nil` where the broker
    /// does not know where the provider's login is.
    public let authorizationURI: String?

    public init(contextClasses: [String] = [], maximumAge: Int64? = nil, authorizationURI: String? = nil) {
        self.contextClasses = contextClasses
        self.maximumAge = maximumAge
        self.authorizationURI = authorizationURI
    }
}
