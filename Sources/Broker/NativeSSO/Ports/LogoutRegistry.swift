import Crypto

/// Ends sessions on a logout of their identity provider: implemented by `Registry` on PostgreSQL.
package protocol LogoutRegistry: Sendable {
    /// Ends the named sessions, blocks those not seen yet from starting later, and consumes the token. Returns when all
    /// of it is committed. After an outage part of it may be done; the same token may be used again then.
    /// - Returns: The number of sessions that this call ended. `nil`: the token was used before, and nothing changed.
    func end(_ logout: LogoutRecord) async throws(PortError) -> Int64?
}

/// A logout for the registry.
package struct LogoutRecord: Sendable {
    /// The X-Request-Id of the logout request.
    package let requestID: UniqueID
    /// What the identity provider sent.
    package let cause: LogoutCause
    /// The identity provider whose sessions end.
    package let issuer: Issuer
    /// SHA-256 of the `sid` of the session that the token names, if it names one.
    package let sidDigest: [UInt8]?
    /// The user whose sessions end, if they do.
    package let user: Subject?
    /// Whether, of the sessions of ``user``, only those without `sid` end.
    package let limitsUserToSessionsWithoutSID: Bool
    /// `iat` of the token, or `event_timestamp` of the event: later logins are not meant.
    package let issuedAt: UnixTime
    /// Identifies the token of its kind: SHA-256 over its issuer and `jti`.
    package let digest: [UInt8]
    /// Until then the registry remembers that the token was used.
    package let rememberedUntil: UnixTime
    /// The id of a new row that marks the session as ended, if the registry has no row of the session.
    package let proposedSessionRowID: UniqueID

    package init(_ signal: ProviderSignal, requestID: UniqueID, milliseconds: Int64) {
        var randomness = SystemRandomNumberGenerator()
        self.requestID = requestID
        cause = signal.cause
        issuer = signal.issuer
        sidDigest = signal.subject.session?.digest
        user = signal.subject.user
        limitsUserToSessionsWithoutSID = signal.subject.limitsUserToSessionsWithoutSID
        issuedAt = signal.effectiveAt
        // An issuer contains no NUL, so this digest cannot match a `jti` of another issuer.
        digest = Array(SHA256.hash(data: Array(signal.signer.string.utf8) + [0] + Array(signal.tokenID.utf8)))
        // A minute more, for the clocks of the brokers.
        rememberedUntil = signal.refusedAfter.adding(60)
        proposedSessionRowID = .timeOrdered(milliseconds: UInt64(clamping: milliseconds), using: &randomness)
    }
}

/// Where users log in: implemented from the identity providers' discovery documents and the configuration.
package protocol LoginDirectory: Sendable {
    /// The authorization endpoint of `issuer`, RFC 6749 §3.1; `nil` if it is unknown.
    func authorizationEndpoint(of issuer: Issuer) -> String?
}
