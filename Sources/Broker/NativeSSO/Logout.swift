/// An identity provider says that a login is over. OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8.
///
/// With a session end all its grants, also those for offline access (Native SSO §4.3).
package struct Logout: Sendable {
    private let tokens: any LogoutTokenVerifier
    private let registry: any LogoutRegistry
    private let directory: any ClientDirectory
    private let policies: [Issuer: LogoutPolicy]
    private let clock: any WallClock

    /// - Parameter policies: One for each configured identity provider.
    package init(
        tokens: any LogoutTokenVerifier, registry: any LogoutRegistry, directory: any ClientDirectory,
        policies: [Issuer: LogoutPolicy], clock: any WallClock
    ) {
        self.tokens = tokens
        self.registry = registry
        self.directory = directory
        self.policies = policies
        self.clock = clock
    }

    /// Verifies a logout token of a configured IdP for this broker. Checks everything of §2.6 except reuse.
    package func verify(_ token: LogoutToken) async throws(LogoutError) -> LogoutTokenClaims {
        let claims = try await tokens.verify(token, at: clock.now)
        // OpenID Connect Core §3.1.3.7, 3: `aud` may contain only clients that the broker serves. The IdP sends another
        // app's logouts elsewhere; a token that one app obtained must not end the sessions of others.
        let own = policies[claims.signal.issuer]?.audiences ?? []
        for client in claims.audience where !own.contains(client) {
            guard try LogoutError.port({ () throws(PortError) in try directory.client(client) }) != nil else {
                throw .refused(.audience)
            }
        }
        return claims
    }

    /// Returns when the end is committed. Ending a session that has ended or is unknown is a success, and so is a token
    /// that comes again: the IdP may have lost the first answer.
    /// - Parameter claims: The result of ``verify(_:)``.
    /// - Returns: The number of sessions that this call ended.
    package func end(_ claims: LogoutTokenClaims, requestID: UniqueID) async throws(LogoutError) -> Int64 {
        let record = LogoutRecord(claims.signal, requestID: requestID, milliseconds: clock.milliseconds)
        return try await LogoutError.port { () async throws(PortError) in try await registry.end(record) } ?? 0
    }
}

/// The operator's configuration of logouts from one identity provider.
package struct LogoutPolicy: Sendable, Hashable {
    /// Accepted `aud` values besides the registered apps.
    package let audiences: [ClientID]
    /// Whether a logout token may come without `exp`, as older providers write them; its `iat` bounds its age then.
    package let allowsMissingExpiry: Bool
    /// Whether `typ` may be `JWT` or missing, as it may in an id_token: then only the claims tell the two apart.
    package let allowsJWTType: Bool
    /// The sessions that a logout token with both `sid` and `sub` ends.
    package let reach: LogoutReach

    package init(
        audiences: [ClientID] = [], allowsMissingExpiry: Bool = false, allowsJWTType: Bool = false,
        reach: LogoutReach = .withoutSID
    ) {
        self.audiences = audiences
        self.allowsMissingExpiry = allowsMissingExpiry
        self.allowsJWTType = allowsJWTType
        self.reach = reach
    }
}

/// Which sessions a logout token with both `sid` and `sub` ends. The raw value is what an operator writes.
///
/// A login whose id_token has no `sid` is a session without `sid` here. The broker cannot tell whether it is the
/// session that ended.
package enum LogoutReach: String, Sendable, CaseIterable {
    /// Only that session; the user's sessions without `sid` live on. For IdPs whose id_tokens all have a `sid`, and for
    /// those that name a user who stays logged in elsewhere.
    case session
    /// That session, and every session without `sid` of the user that began before. If the user has two of them, both
    /// end, and the user logs in again. Otherwise a session could outlive its logout.
    case withoutSID = "without-sid"
    /// Every session of the user, as if the token had no `sid`: for IdPs whose `sid` in a logout token differs from
    /// that in the id_tokens.
    case user
}

/// Why a logout token is refused: Back-Channel Logout 1.0 §2.6.
package enum LogoutRefusal: Error, Sendable, CaseIterable {
    case missing
    case malformed
    case headerRefused
    case wrongType
    case algorithmNotAllowed
    case unknownKey
    /// It left the key set. It still verifies old id_tokens, but no new logout.
    case keyRetired
    case keyRevoked
    case badSignature
    /// Missing, or not a configured identity provider.
    case issuer
    case audience
    case issuedAt
    case expiry
    case notBefore
    case tokenID
    case events
    /// An id_token has one, a logout token must not.
    case nonce
    case subject
    case sessionID
    /// Neither `sub` nor `sid`.
    case subjectMissing
    /// Whether no known key made the signature. This is the most expensive refusal that an anonymous caller can cause.
    package var hasUnknownSigner: Bool { self == .unknownKey || self == .badSignature }
}

package typealias LogoutError = GrantError<LogoutRefusal>
