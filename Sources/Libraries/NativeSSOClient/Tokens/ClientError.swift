/// Why an app has no token, or no answer. ``remedy(after:)`` tells what to do.
public enum ClientError: Error, Sendable {
    /// The transport failed. The request may have succeeded, so keep all stored values.
    case noAnswer(any Error)
    /// Status 429 or 5xx, with its `Retry-After`. Never a refusal, whatever the body says.
    case unavailable(status: Int, retryAfter: Duration?)
    /// The endpoint refused the request (RFC 6749 §5.2).
    case refused(TokenRefusal)
    /// The response is not what the endpoint must answer: a captive portal, a proxy's error page, missing members.
    case unexpectedAnswer(status: Int)
    /// The id_token failed a check of OpenID Connect Core §3.1.3.7.
    case untrustedIDToken(IDTokenDefect)
    /// The discovery document or the key set of an IdP or broker cannot be used.
    case untrustedMetadata(MetadataDefect)
    /// The answer of the userinfo endpoint is about another user (OpenID Connect Core §5.3.2), or has no `sub`.
    case otherUserInfo
    /// The callback of the browser has no code.
    case callback(CallbackError)
    /// The browser did not come back: the user closed it, or it could not be opened.
    case browser(any Error)
    /// The silent login did not end within its time limit.
    case silentLoginTimedOut
    /// The shared keychain has no login, or this app has signed out.
    case notLoggedIn
    /// The login in the shared keychain cannot be used.
    case keychainItem(KeychainItemDefect)
    /// The keychain failed.
    case keychain(any Error)
    /// The proof key could not sign.
    case proofKey(any Error)
    /// A token must not go to this address: it has no TLS.
    case insecureAddress(String)

    /// Why an id_token was refused.
    public enum IDTokenDefect: Sendable, Equatable {
        /// Absent; not a JWT, or without `sub`; another `iss`, `aud` or `nonce`; `exp` has passed; no key of the issuer
        /// signed it.
        case missing, malformed, otherIssuer, otherAudience, otherNonce, expired, badSignature
    }

    /// Why a discovery document or a key set was refused.
    public enum MetadataDefect: Sendable, Equatable {
        /// The document at this address is not JSON, or not of its kind.
        case malformed(String)
        /// `issuer` is another than the configured one.
        case otherIssuer
        /// This member is absent, and the call needs it.
        case missing(String)
        /// This member, or address, has no TLS.
        case insecureAddress(String)
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
