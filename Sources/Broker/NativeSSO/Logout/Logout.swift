/// An identity provider says that a login is over. OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8.
///
/// Whatever was issued from the sessions that it ends is dead with them, offline access or not (Native SSO §4.3).
public struct Logout: Sendable {
    private let tokens: any LogoutTokenVerifier
    private let registry: any LogoutRegistry
    private let directory: any ClientDirectory
    private let policies: [Issuer: LogoutPolicy]
    private let clock: any WallClock

    /// - Parameter policies: Of every identity provider that is configured.
    public init(
        tokens: any LogoutTokenVerifier, registry: any LogoutRegistry, directory: any ClientDirectory,
        policies: [Issuer: LogoutPolicy], clock: any WallClock
    ) {
        self.tokens = tokens
        self.registry = registry
        self.directory = directory
        self.policies = policies
        self.clock = clock
    }

    /// What one of the identity providers says, to somebody here. §2.6 but for the question whether it was used before.
    public func verify(_ token: LogoutToken) async throws(LogoutError) -> LogoutTokenClaims {
        let claims = try await tokens.verify(token, at: clock.now)
        try checkAudience(of: claims)
        return claims
    }

    /// Returns when the end is committed. To end what has ended, or what was never seen here, is a success.
    /// - Parameter claims: As ``verify(_:)`` gave them.
    /// - Returns: How many sessions this call ended.
    public func end(_ claims: LogoutTokenClaims, requestID: UniqueID) async throws(LogoutError) -> Int64 {
        let record = LogoutRecord(claims, requestID: requestID, milliseconds: clock.milliseconds)
        let ended = try await LogoutError.port { () async throws(PortError) in try await registry.end(record) }
        guard let ended else { throw .refused(.replayed) }
        return ended
    }

    /// OpenID Connect Core §3.1.3.7, 3: nobody may be in `aud` but those whom the broker answers for. The provider sends
    /// another app's logouts elsewhere; what one app got hold of must not end the sessions of others.
    private func checkAudience(of claims: LogoutTokenClaims) throws(LogoutError) {
        let own = policies[claims.issuer]?.audiences ?? []
        for client in claims.audience where !own.contains(client) {
            guard try LogoutError.port({ () throws(PortError) in try directory.client(client) }) != nil else {
                throw .refused(.audience)
            }
        }
    }
}
