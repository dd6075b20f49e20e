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
    /// The same, one for each walk: the identity provider asks the user before its first login.
    static func asking(_ walk: DemonstratedProfile) -> SampleApp {
        SampleApp(clientID: "app-four-\(walk)", redirectURI: "org.example.four:/callback", sharesLogins: false)
    }
    /// The apps of the documents 000, 001 and 004, with their redirect URIs.
    static let mobile = SampleApp(
        clientID: "mobile-app-001", redirectURI: "myapp://auth/callback", sharesLogins: true)
    static let client = SampleApp(clientID: "mobile-app-client", redirectURI: "myapp://callback", sharesLogins: true)
    static let isv = SampleApp(
        clientID: "s6BhdRkqt3", redirectURI: "com.isv.mobileapp:/callback", sharesLogins: true)
    static let all = [one, two, three, mobile, client, isv]
    /// A web app that asks ServerA. It gets logins by hand-off from app-one, and its server has a secret.
    static let web = SampleApp(clientID: "web-app", redirectURI: "\(webOrigin)/callback", sharesLogins: false)
    static let webOrigin = "https://web.example.test"

    /// The groups that share logins, one for each identity provider.
    static let group = "vendor"
    static let plainGroup = "vendor-plain"
    static let defaultScope = "openid profile \(SampleAPI.a.scope) \(SampleAPI.b.scope)"
    /// Needs the user's consent, which no exchange can ask for.
    static let consentScope = "payments.write"

    /// How the identity providers know the apps. Those that share logins may also log in at a page on this machine (RFC 8252
    /// §7.3).
    ///
    /// - Parameter page: The port of that page.
    static func registrations(page: Int) -> [ProviderFile.Client] {
        all.map { app in
            .init(
                app.clientID,
                redirectURIs: [app.redirectURI] + (app.sharesLogins ? [loopbackRedirect(of: app, port: nil)] : []),
                logoutURIs: app.sharesLogins ? [signedOut(page: page)] : [])
        }
            + DemonstratedProfile.allCases.map(asking).map { app in
                .init(app.clientID, redirectURIs: [app.redirectURI], requiresConsent: true)
            }
    }

    /// Where the browser goes after a logout that the page asked for.
    static func signedOut(page: Int) -> String { "http://127.0.0.1:\(page)/signed-out" }

    static func loopbackRedirect(of app: SampleApp, port: Int?) -> String {
        "http://127.0.0.1\(port.map { ":\($0)" } ?? "")/callback/\(app.clientID)"
    }

    /// Registers scopes, apps and the groups that share logins.
    ///
    /// - Returns: The secret of the web app.
    static func register(
        with installation: Installation, identityProvider issuer: String, plain: String
    ) async throws -> String {
        for scope in defaultScope.split(separator: " ") {
            try await installation.command("scope", "add", String(scope))
        }
        try await installation.command("scope", "add", consentScope, "--requires-consent")
        try await installation.command("group", "add", group, "--issuer", issuer)
        try await installation.command("group", "add", plainGroup, "--issuer", plain)
        for app in all {
            try await installation.command(
                "client", "add", app.clientID, "--audience", SampleAPI.a.audience, SampleAPI.b.audience,
                "--allowed-scope",
                "\(defaultScope) \(consentScope)", "--default-scope", defaultScope, "--self-exchange")
            guard app.sharesLogins else { continue }
            let handoff = app.clientID == one.clientID ? ["--handoff", "bearer"] : []
            for group in [group, plainGroup] {
                try await installation.command(
                    ["group", "member", "add", group, app.clientID, "--role", "both"] + handoff)
            }
        }
        let webScope = "openid profile \(SampleAPI.a.scope)"
        try await installation.command(
            "client", "add", web.clientID, "--authentication", "client_secret_basic", "--audience",
            SampleAPI.a.audience, "--allowed-scope", webScope, "--default-scope", webScope)
        for group in [group, plainGroup] {
            try await installation.command(
                "group", "member", "add", group, web.clientID, "--role", "target", "--handoff-origin", webOrigin)
        }
        return try await installation.rotateSecret(of: web.clientID)
    }
}

/// The two sample APIs, each with an audience and a scope of its own.
struct SampleAPI: Sendable {
    let audience: String
    let scope: String
    let path: String

    static let a = SampleAPI(audience: "https://api-a.example.test", scope: "api:serverA", path: "/api/data")
    static let b = SampleAPI(audience: "https://api-b.example.test", scope: "api:serverB", path: "/api/records")
    static let all = [a, b]
}
