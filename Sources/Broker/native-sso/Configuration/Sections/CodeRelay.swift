import IdentityProvider
import NativeSSO

extension Configuration {
    /// `code_relay` of one identity provider: apps bring their codes here, and the broker redeems them.
    struct CodeRelay: Sendable {
        /// `nil`: as the discovery document says.
        let tokenEndpoint: ProviderURL?
        /// Likewise.
        let revocationEndpoint: ProviderURL?
        /// Of the apps' registration there; `nil`: they are public clients.
        let secret: ProviderCodeRelay.ClientSecret?
        let policy: CodeRelayPolicy

        /// - Parameter keySource: Of the identity provider; `nil` where that was reported.
        init(reading section: Section, keySource: KeySource?) {
            func endpoint(_ name: String) -> ProviderURL? {
                section.value(name) { try ProviderURL($0, isDevelopment: section.isDevelopment) }
            }
            tokenEndpoint = endpoint("token_endpoint")
            revocationEndpoint = endpoint("revocation_endpoint")
            let method = section.choice("client_authentication", default: ProviderCodeRelay.ClientSecret.Method.basic)
            secret = section.value("client_secret_file", SecretFile.read)
                .map { ProviderCodeRelay.ClientSecret($0, by: method) }
            policy = CodeRelayPolicy(
                timeout: section.duration("timeout", default: 5, in: 1...30),
                atOnce: section.integer("at_once", default: 32, in: 1...1000),
                revokesOrphans: section.flag("revoke_orphans", default: true))
            if section.isGiven("client_authentication"), !section.isGiven("client_secret_file") {
                section.report(
                    "client_authentication", "is for a secret, and there is none; write client_secret_file")
            }
        }
    }
}

extension LogoutPolicy {
    /// `logout` of one identity provider.
    init(reading section: Section) {
        let audiences = section.values("audiences") { text in
            guard let client = ClientID(text) else {
                throw ValueDefect("write at most \(ClientID.maximumLength) printable ASCII characters")
            }
            return client
        }
        self.init(
            audiences: audiences.map(\.value), allowsMissingExpiry: section.flag("allow_missing_exp", default: false),
            allowsJWTType: section.flag("allow_typ_jwt", default: false),
            reach: section.choice("reach", default: .nameless))
    }
}
