import IdentityProvider
import JOSE
import NativeSSO

extension Configuration {
    /// One of `identity_providers`: an issuer whose id_tokens are accepted as subject tokens.
    struct IdentityProvider: Sendable {
        let policy: IssuerPolicy
        let keySource: KeySource
        /// Allowed in the header of its id_tokens; never empty, no algorithm under two names.
        let algorithms: [SignatureAlgorithm]
        /// Where its users log in; `nil`: as its discovery document says.
        let authorizationEndpoint: String?
        /// Between two fetches of the key set.
        let keySetRefresh: Seconds
        /// Who may vouch for where its keys are fetched; `nil`: whom the system trusts.
        let certificateAuthorities: CertificateAuthorities?
        /// Whether a key that leaves its key set is revoked by that, and not only retired.
        let revokesOnRemoval: Bool
        /// Configured and checked, but every exchange that names it is refused.
        let isDisabled: Bool
        /// For its logout tokens.
        let logout: LogoutPolicy
        /// How its codes are redeemed; `nil`: they are not.
        let codeRelay: Configuration.CodeRelay?

        var issuer: Issuer { policy.issuer }
    }
}
