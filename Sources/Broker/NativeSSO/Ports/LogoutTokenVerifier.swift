/// The existing identity provider, as far as a logout token needs it: implemented by `IdentityProvider`.
public protocol LogoutTokenVerifier: Sendable {
    /// Verifies signature, claim shape and age. The token's `iss` picks one of the configured providers, and so whose keys
    /// are tried; nothing is fetched that is not configured.
    ///
    /// Does not check: whom `aud` names, beyond its form, or whether the token was used before.
    func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims
}
