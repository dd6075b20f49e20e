import IdentityProvider
import NativeSSO

extension Configuration {
    /// `code_relay` of one identity provider: apps bring their codes here, and the broker redeems them.
    struct CodeRelay: Sendable {
        let tokenEndpoint: ProviderURL?
        let revocationEndpoint: ProviderURL?
        /// Of the apps' registration there; `nil`: they are public clients.
        let secret: ProviderCodeRelay.ClientSecret?
        /// Of apps that have a secret of their own there.
        let secrets: [ClientID: ProviderCodeRelay.ClientSecret]
        let policy: CodeRelayPolicy

        /// - Parameter keySource: The identity provider's; `nil` if it is invalid.
        init(reading section: Section, keySource: KeySource?) {
            func endpoint(_ name: String, help: String) -> ProviderURL? {
                section.value(name, .url, help: help) { try ProviderURL($0, isDevelopment: section.isDevelopment) }
            }
            tokenEndpoint = endpoint(
                "token_endpoint",
                help: "Where the broker redeems codes. By default as discovered, if on the same host."
            )
            revocationEndpoint = endpoint(
                "revocation_endpoint",
                help: "Where it revokes tokens that no app received. By default as discovered, likewise."
            )
            secret = Self.secret(
                section, help: "One line: the apps' secret there. By default the apps are public clients.")
            let own = section.sections(
                "clients", isRequired: false,
                help: "Apps with a secret of their own at the identity provider, instead of the common one."
            ) { inner in
                let id = inner.required(
                    "client_id", .text("printable ASCII"), example: "orders", help: "The app, there and here."
                ) { text in
                    guard let id = ClientID(text) else { throw ValueDefect("is no client_id") }
                    return Located(value: id, place: inner.place(of: "client_id"))
                }
                if !inner.isGiven("client_secret_file") {
                    inner.report(
                        "client_secret_file", "is missing; write it, or remove this client for the common secret")
                }
                return (id: id, secret: Self.secret(inner, help: "One line: the secret of this app there."))
            }
            secrets = own.reduce(into: [:]) { secrets, client in
                guard let id = client.id, let secret = client.secret else { return }
                if secrets.updateValue(secret, forKey: id.value) != nil {
                    section.report(id.place, "is there twice; remove one of them")
                }
            }
            policy = CodeRelayPolicy(
                timeout: section.duration(
                    "timeout", default: 5, in: 1...30, help: "For one request to the identity provider."),
                atOnce: section.integer(
                    "at_once", default: 32, in: 1...1000,
                    help: "Codes in progress on one broker. One app gets half, one address a quarter."
                ),
                revokesOrphans: section.flag(
                    "revoke_orphans", default: true,
                    help: "Revoke the refresh token of a code when no app received the tokens."),
                passesIDToken: section.flag(
                    "idp_id_token", default: false,
                    help: "Also answer with the identity provider's id_token, for `id_token_hint` at its logout."))
        }

        private static func secret(_ section: Section, help: String) -> ProviderCodeRelay.ClientSecret? {
            let method = section.choice(
                "client_authentication", default: ProviderCodeRelay.ClientSecret.Method.basic,
                help: "How the broker sends the secret to the identity provider. Needs `client_secret_file`.")
            if section.isGiven("client_authentication"), !section.isGiven("client_secret_file") {
                section.report(
                    "client_authentication", "is for a secret, and there is none; write client_secret_file")
            }
            return section.file("client_secret_file", help: help, SecretFile.read)
                .map { ProviderCodeRelay.ClientSecret($0, by: method) }
        }
    }
}

extension LogoutPolicy {
    /// `logout` of one identity provider.
    init(reading section: Section) {
        self.init(
            audiences: section.identifiers(
                "audiences", help: "`aud` values of logout tokens that are accepted beside the registered clients."),
            allowsMissingExpiry: section.flag(
                "allow_missing_exp", default: false, help: "Accept logout tokens without `exp`."),
            allowsJWTType: section.flag(
                "allow_typ_jwt", default: false, help: "Accept logout tokens whose `typ` is `JWT` or missing."),
            reach: section.choice(
                "reach", default: .withoutSID,
                help: """
                    What a logout token with `sid` and `sub` ends. `session`: that session. `without-sid`: also the user's \
                    sessions without `sid`. `user`: all sessions of the user.
                    """))
    }
}
