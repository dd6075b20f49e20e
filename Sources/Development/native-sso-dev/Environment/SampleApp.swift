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
        try await installation.register(registryFile(groups: [(group, issuer), (plainGroup, plain)]))
        return try await installation.rotateSecret(of: web.clientID)
    }

    private static func registryFile(groups: [(id: String, issuer: String)]) -> String {
        func list(_ scope: String) -> String { "[\(scope.split(separator: " ").joined(separator: ", "))]" }
        let webScope = list("openid profile \(SampleAPI.a.scope)")
        let clients = all.map { app in
            """
              - client_id: \(app.clientID)
                audiences: [\(SampleAPI.a.audience), \(SampleAPI.b.audience)]
                allowed_scope: \(list("\(defaultScope) \(consentScope)"))
                default_scope: \(list(defaultScope))
                allows_self_exchange: true

            """
        }
        let members = all.filter(\.sharesLogins).map { app in
            """
                  - client_id: \(app.clientID)
                    role: both\(app.clientID == one.clientID ? "\n        handoff: bearer" : "")

            """
        }
        let sharing = groups.map { group in
            """
              - group_id: \(group.id)
                issuer: \(group.issuer)
                members:
            \(members.joined())
                  - client_id: \(web.clientID)
                    role: target
                    handoff_origins: [\(webOrigin)]

            """
        }
        let scopes = defaultScope.split(separator: " ").map { "  - scope: \($0)\n" }
        return """
            name: demonstration
            scopes:
            \(scopes.joined())
              - scope: \(consentScope)
                requires_consent: true
            clients:
            \(clients.joined())
              - client_id: \(web.clientID)
                authentication: client_secret_basic
                audiences: [\(SampleAPI.a.audience)]
                allowed_scope: \(webScope)
                default_scope: \(webScope)
            groups:
            \(sharing.joined())
            """
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
