import BrokerHarness

/// The apps of the walk-through, as the identity provider and the broker know them.
struct SampleApp: Sendable {
    let clientID: String
    let redirectURI: String
    /// Member of the group that shares logins.
    let sharesLogins: Bool

    static let one = SampleApp(clientID: "app-one", redirectURI: "com.example.one:/callback", sharesLogins: true)
    static let two = SampleApp(clientID: "app-two", redirectURI: "com.example.two:/callback", sharesLogins: true)
    /// Of another vendor.
    static let three = SampleApp(clientID: "app-three", redirectURI: "org.example.three:/callback", sharesLogins: false)
    static let all = [one, two, three]

    /// The resource that their tokens are for: both servers.
    static let audience = "https://api.example.test"
    static let group = "vendor"
    static let defaultScope = "openid profile orders.read"
    /// Needs the user's consent, which no exchange can ask for.
    static let consentScope = "payments.write"

    /// Registers scopes, apps and the group that shares logins.
    static func register(with installation: Installation, identityProvider issuer: String) async throws {
        for scope in defaultScope.split(separator: " ") {
            try await installation.command("scope", "add", String(scope))
        }
        try await installation.command("scope", "add", consentScope, "--requires-consent")
        try await installation.command("group", "add", group, "--issuer", issuer)
        for app in all {
            try await installation.command(
                "client", "add", app.clientID, "--audience", audience, "--allowed-scope",
                "\(defaultScope) \(consentScope)", "--default-scope", defaultScope, "--self-exchange")
            guard app.sharesLogins else { continue }
            try await installation.command("group", "member", "add", group, app.clientID, "--role", "both")
        }
    }
}
