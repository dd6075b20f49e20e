/// Why an app has no token. ``remedy(after:)`` tells what to do.
public enum ClientError: Error, Sendable {
    /// The transport failed. The request may have succeeded, so keep all stored values.
    case noAnswer(any Error)
    /// Status 429 or 5xx, with its `Retry-After`. Never a refusal, whatever the body says.
    case unavailable(status: Int, retryAfter: Duration?)
    /// The token endpoint refused the request (RFC 6749 §5.2).
    case refused(TokenRefusal)
    /// The response is not from a token endpoint: a captive portal or a proxy's error page.
    case unexpectedAnswer(status: Int)
    /// The id_token failed a check of OpenID Connect Core §3.1.3.7.
    case untrustedIDToken(IDTokenDefect)
    /// The shared keychain has no login.
    case notLoggedIn
    /// The keychain failed.
    case keychain(any Error)
    /// The proof key could not sign.
    case proofKey(any Error)

    /// Why an id_token was refused.
    public enum IDTokenDefect: Sendable {
        /// Absent; not a JWT; another `iss`, `aud` or `nonce`; `exp` has passed.
        case missing, malformed, otherIssuer, otherAudience, otherNonce, expired
    }
}

/// An error response of the token endpoint, RFC 6749 §5.2.
public struct TokenRefusal: Sendable, Equatable {
    /// The HTTP status code.
    public let status: Int
    /// The error code as sent.
    public let error: String
    /// `error_description`, for developers.
    public let description: String?
    /// The value of `X-Request-Id`, for support requests to the operator.
    public let requestID: String?
    /// The required login, with `interaction_required`.
    public let demand: LoginDemand
}

/// Requirements on a login in the browser. RFC 9470 §3.
public struct LoginDemand: Sendable, Equatable {
    /// `acr_values` in order of preference; any one suffices. Empty: no requirement.
    public let contextClasses: [String]
    /// `max_age`: maximum seconds since the user authenticated; nil: no requirement.
    public let maximumAge: Int64?
    /// The authorization request without the app's parameters; see ``LoginAttempt/address(completing:)``. `nil` if
    /// the broker does not know the IdP's authorization endpoint.
    public let authorizationURI: String?

    /// A demand; by default without requirements.
    public init(contextClasses: [String] = [], maximumAge: Int64? = nil, authorizationURI: String? = nil) {
        self.contextClasses = contextClasses
        self.maximumAge = maximumAge
        self.authorizationURI = authorizationURI
    }
}
