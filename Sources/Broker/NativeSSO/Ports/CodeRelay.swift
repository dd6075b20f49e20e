import StrictCoding

/// The existing identity provider's token endpoint: implemented by `IdentityProvider`.
package protocol CodeRelay: Sendable {
    /// Asks for the tokens of an authorization code exactly once: a second use may make the IdP revoke the tokens of
    /// the first. RFC 6749 §4.1.2. Returns or throws within the deadline of `issuer`.
    func redeem(
        _ code: PresentedCode, of client: ClientID, at issuer: Issuer
    ) async throws(CodeRelayError) -> ProviderTokens

    /// Asks the IdP to revoke a refresh token that no app got or can get. RFC 7009 §2. Returns within the deadline of
    /// `issuer`.
    func revoke(_ refreshToken: String, of client: ClientID, at issuer: Issuer) async -> RevocationOutcome
}

/// The fate of a refresh token that no app received. The raw value is what the audit shows.
package enum RevocationOutcome: String, Sendable, CaseIterable {
    case revoked = "idp_token_revoked"
    /// The identity provider answered with an error.
    case refused = "idp_revocation_refused"
    /// No answer came, or an unusable one.
    case failed = "idp_revocation_failed"
    /// The identity provider names no revocation endpoint.
    case endpointUnknown = "idp_revocation_endpoint_unknown"
    /// The operator turned revocation off.
    case switchedOff = "idp_revocation_off"
    /// Not revoked, because an app may have the token: the database did not confirm its fate.
    case outcomeUnknown = "code_outcome_unknown"
}

/// Why the broker has no tokens for a code.
package enum CodeRelayError: Error, Sendable {
    /// The identity provider answered with an OAuth error.
    case refused(ProviderError)
    /// The broker sent nothing. The code stays valid.
    case notAsked(ProviderFault)
    /// The broker sent the code and got no answer. The code may be spent.
    case unanswered(ProviderFault)
    /// The broker sent the code and cannot use the answer. The code counts as spent.
    /// - orphan: A refresh token in that answer.
    case unusable(AnswerFault, orphan: String? = nil)
}

/// The identity provider's tokens for a code. RFC 6749 §5.1, OpenID Connect Core §3.1.3.3. Prints as `****`.
package struct ProviderTokens: Sendable, Equatable, Redacted {
    /// The identity provider's access token, for the app.
    package var accessToken: String
    /// Seconds.
    package var expiresIn: Int64?
    /// The identity provider's refresh token, for the app.
    package var refreshToken: String?
    /// The granted scope, unchanged; `nil`: the requested scope.
    package var scope: String?
    /// The id_token, which the broker verifies before it uses it.
    package var idToken: String
    /// The IdP's, where ``idToken`` is this broker's and the app may have both.
    package var providerIDToken: String?
    /// In the current profile, the secret of the issuer that signed the id_token: the IdP's, if it supports Native SSO,
    /// or this broker's for an enrolled login. Native SSO §3.4: id_token and secret come from the same party.
    package var deviceSecret: String?

    package init(
        accessToken: String, expiresIn: Int64?, refreshToken: String?, scope: String?, idToken: String,
        providerIDToken: String? = nil, deviceSecret: String? = nil
    ) {
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.refreshToken = refreshToken
        self.scope = scope
        self.idToken = idToken
        self.providerIDToken = providerIDToken
        self.deviceSecret = deviceSecret
    }
}

/// An OAuth error of the IdP's token endpoint: RFC 6749 §5.2. The broker passes on nothing else of that answer.
package enum ProviderError: String, Sendable, CaseIterable {
    case invalidRequest
    case invalidClient
    case invalidGrant
    case unauthorizedClient
    case unsupportedGrantType
    case invalidScope
    /// The errors of OpenID Connect Core §3.1.2.6: the user must log in again.
    case interactionRequired
    /// An error code of the identity provider's own.
    case other
}

/// Why the identity provider gave no answer. It may answer again without a change there.
package enum ProviderFault: Sendable, CaseIterable {
    /// Its metadata names no token endpoint.
    case endpointUnknown
    /// No connection, or TLS could not verify the server.
    case unreachable
    case timedOut
    /// The connection broke after the code was sent.
    case cutOff
    /// It reports an outage: status 429 or 5xx, or the error `temporarily_unavailable` or `server_error`.
    case unavailable
}

/// What is wrong with the identity provider's answer. A repeated request gets no other answer.
package enum AnswerFault: Error, Sendable, CaseIterable {
    /// A status that a token endpoint never returns.
    case status
    case redirected
    case contentType
    case encoded
    case tooLarge
    case notJSON
    /// A member of RFC 6749 §5.1 is missing or invalid.
    case malformed
    case noIDToken
    /// `at_hash` does not match the access token beside it. OpenID Connect Core §3.1.3.8.
    case accessTokenHash
    /// The id_token is for another client.
    case otherClient
    /// The id_token has expired, or was issued too long ago.
    case stale
}
