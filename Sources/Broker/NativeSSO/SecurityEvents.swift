/// What an identity provider sent about a session or a user. The raw value stands in the audit.
package enum LogoutCause: String, Sendable, CaseIterable {
    /// OpenID Connect Back-Channel Logout 1.0.
    case logoutToken = "logout_token"
    /// draft-parecki-oauth-global-token-revocation.
    case globalTokenRevocation = "global_token_revocation"
    /// CAEP 1.0 §3.1.
    case sessionRevoked = "session_revoked"
    /// RISC 1.0 §2.3: nothing is granted until ``accountEnabled``.
    case accountDisabled = "account_disabled"
    /// RISC 1.0 §2.4.
    case accountEnabled = "account_enabled"
}

/// What a verified token of an identity provider asks for.
package struct ProviderSignal: Sendable, Hashable {
    package let cause: LogoutCause
    /// The identity provider whose sessions end.
    package let issuer: Issuer
    package let subject: LogoutSubject
    /// Logins that began later are not meant.
    package let effectiveAt: UnixTime
    /// `iss` of the token.
    package let signer: Issuer
    /// `jti`: unique at its signer.
    package let tokenID: String
    /// After this time the broker refuses the token for its age.
    package let refusedAfter: UnixTime

    package init(
        cause: LogoutCause, issuer: Issuer, subject: LogoutSubject, effectiveAt: UnixTime, signer: Issuer,
        tokenID: String, refusedAfter: UnixTime
    ) {
        self.cause = cause
        self.issuer = issuer
        self.subject = subject
        self.effectiveAt = effectiveAt
        self.signer = signer
        self.tokenID = tokenID
        self.refusedAfter = refusedAfter
    }
}

/// A verified security event token. RFC 8417.
package enum SecurityEvent: Sendable, Hashable {
    case signal(ProviderSignal)
    /// A verification event, or an event of a type that the broker does not act on. Nothing changes.
    case nothing(signer: Issuer)

    /// `iss` of the token.
    package var signer: Issuer {
        switch self {
        case .signal(let signal): signal.signer
        case .nothing(let signer): signer
        }
    }
}

/// Verifies what identity providers send to end sessions, apart from logout tokens: implemented by
/// `IdentityProvider`.
///
/// `iss` of the token selects its configured signer. Neither checks whether the token was used before.
package protocol SecurityEventVerifier: Sendable {
    /// Verifies signature, audience, age and content of a security event token.
    func verify(event token: LogoutToken, at now: UnixTime) async throws(EventError) -> SecurityEvent

    /// Verifies the JWT that authenticates a global token revocation, and reads its body.
    /// - Parameters:
    ///   - body: The subject identifier, as JSON.
    func verify(
        revocation token: LogoutToken, body: [UInt8], at now: UnixTime
    ) async throws(EventError) -> ProviderSignal
}

/// An identity provider says that a session or account is over: by global token revocation or by security event.
package struct SecurityEvents: Sendable {
    private let verifier: any SecurityEventVerifier
    private let registry: any LogoutRegistry
    private let clock: any WallClock

    package init(verifier: any SecurityEventVerifier, registry: any LogoutRegistry, clock: any WallClock) {
        self.verifier = verifier
        self.registry = registry
        self.clock = clock
    }

    /// Verifies a security event token; see ``SecurityEventVerifier``.
    package func verify(event token: LogoutToken) async throws(EventError) -> SecurityEvent {
        try await verifier.verify(event: token, at: clock.now)
    }

    /// Verifies a global token revocation; see ``SecurityEventVerifier``.
    package func verify(revocation token: LogoutToken, body: [UInt8]) async throws(EventError) -> ProviderSignal {
        try await verifier.verify(revocation: token, body: body, at: clock.now)
    }

    /// Returns when the end is committed. A security event that comes again is a success and changes nothing: the
    /// transmitter may have lost the answer (RFC 8935 §2.2). The JWT of a revocation does not cover the body, so its
    /// second use is refused.
    /// - Returns: The number of sessions that this call ended.
    package func apply(_ signal: ProviderSignal, requestID: UniqueID) async throws(EventError) -> Int64 {
        let record = LogoutRecord(signal, requestID: requestID, milliseconds: clock.milliseconds)
        let ended = try await EventError.port { () async throws(PortError) in try await registry.end(record) }
        if let ended { return ended }
        guard signal.cause != .globalTokenRevocation else { throw .refused(.replayed) }
        return 0
    }
}

/// Why a global token revocation or a security event token is refused.
package enum EventRefusal: Error, Sendable, CaseIterable {
    // The token itself, RFC 7515 and RFC 8725.
    case missing
    case malformed
    case headerRefused
    case wrongType
    case algorithmNotAllowed
    case unknownKey
    /// It left the key set.
    case keyRetired
    case keyRevoked
    case badSignature
    /// Missing, or not a configured signer.
    case issuer
    /// Not this broker.
    case audience
    case issuedAt
    case expiry
    case notBefore
    case tokenID
    /// The JWT of a revocation was used before.
    case replayed
    // The content of a security event token, RFC 8417 §2.2.
    /// Missing, malformed, or more than one.
    case events
    /// `event_timestamp` is malformed or ahead.
    case eventTime
    // The subject, RFC 9493.
    case bodyMalformed
    case subjectMissing
    /// An identifier of a format that the broker cannot find anyone by, such as `email`.
    case subjectFormat
    /// A subject of another issuer than the signer's.
    case subjectForeign

    /// Whether no known key made the signature.
    package var hasUnknownSigner: Bool { self == .unknownKey || self == .badSignature }
}

package typealias EventError = GrantError<EventRefusal>
