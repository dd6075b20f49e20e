import IdentityProvider
import NativeSSO

extension Configuration {
    /// `code_relay` of one identity provider: apps bring their codes here, and the broker redeems them.
    struct CodeRelay: Sendable {
        /// `nil`: as the discovery document says.
        let tokenEndpoint: String?
        /// Likewise.
        let revocationEndpoint: String?
        /// Of the apps' registration there; `nil`: they are public clients.
        let secret: Secret?
        let method: ProviderCodeRelay.ClientSecret.Method
        let policy: CodeRelayPolicy
    }
}

extension Configuration.CodeRelay {
    /// `nil` where it is not given, or does not hold.
    static func reading(
        _ provider: Section, keySource: Configuration.KeySource?, _ context: IdentityProviderContext
    ) -> Configuration.CodeRelay? {
        let isGiven = provider.isGiven("code_relay")
        return provider.section("code_relay") { section in
            func endpoint(_ name: String) -> String? {
                section.value(name) { text throws(ValueDefect) in
                    try WebURL(text, allowsLoopbackHTTP: context.isDevelopment).string
                }
            }
            let (tokens, revocation) = (endpoint("token_endpoint"), endpoint("revocation_endpoint"))
            let secret = section.value("client_secret_file", SecretFile.read)
            let method = section.choice("client_authentication", default: ProviderCodeRelay.ClientSecret.Method.basic)
            let timeout = section.duration("timeout", default: 5, in: 1...30)
            let atOnce = section.integer("at_once", default: 32, in: 1...1000)
            let revokesOrphans = section.flag("revoke_orphans", default: true)
            guard isGiven else { return nil }
            if section.isGiven("client_authentication"), !section.isGiven("client_secret_file") {
                section.report("client_authentication", "is for a secret, and there is none; write client_secret_file")
            }
            if case .discovery? = keySource {
            } else if keySource != nil, !section.isGiven("token_endpoint") {
                provider.report(
                    "code_relay", "needs token_endpoint where keys do not come from a discovery document; write it")
            }
            guard let method, let timeout, let atOnce, let revokesOrphans else { return nil }
            return Configuration.CodeRelay(
                tokenEndpoint: tokens, revocationEndpoint: revocation, secret: secret, method: method,
                policy: CodeRelayPolicy(timeout: timeout, atOnce: atOnce, revokesOrphans: revokesOrphans))
        }
    }
}
