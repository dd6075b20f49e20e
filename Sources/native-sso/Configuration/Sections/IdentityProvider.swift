import JOSE
import NativeSSO

extension Configuration {
    /// One of `identity_providers`: an issuer whose id_tokens are accepted as subject tokens.
    struct IdentityProvider: Sendable, Hashable {
        let policy: IssuerPolicy
        let keySource: KeySource
        /// Allowed in the header of its id_tokens; never empty, no algorithm under two names.
        let algorithms: [SignatureAlgorithm]
        /// Where its users log in; `nil`: as its discovery document says.
        let authorizationEndpoint: String?
        /// Between two fetches of the key set.
        let keySetRefresh: Seconds
        /// Configured and checked, but every exchange that names it is refused.
        let isDisabled: Bool
        /// For its logout tokens.
        let logout: LogoutPolicy

        var issuer: Issuer { policy.issuer }
    }
}
