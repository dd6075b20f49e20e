import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Glewlwyd with two users, and brokers on one database that take its logins.
final class GlewlwydFixture: Sendable {
    private static let starting = Task { try await GlewlwydFixture() }
    /// Started on first use.
    static var shared: GlewlwydFixture { get async throws { try await starting.value } }

    let provider: Glewlwyd
    let installation: Installation
    /// Bears logout tokens without `exp` and of type `JWT`.
    let broker: Broker
    private let strict: Broker
    private let typed: Broker
    let sql: SQLSession
    private static let password = Unguessable.make()

    private init() async throws {
        provider = try await Glewlwyd()
        try await provider.configure(users: ["alice", "bob"].map { (name: $0, password: Self.password) })
        var configured = BrokerConfiguration.Provider(
            provider.issuer, algorithms: ["RS256"], admitsOnFirstSight: false)
        configured.enrolsByExchange = true
        configured.codeRelay = "{ timeout: 20s }"
        configured.logout = ["allow_typ_jwt", "allow_missing_exp"]
        installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: [configured]),
            on: try await PrivateCluster.shared)
        try await installation.command("group", "add", "vendor", "--issuer", provider.issuer)
        for client in ["app-one", "app-two", "app-by-user", "app-strict", "app-typed"] {
            try await installation.command(
                "client", "add", client, "--audience", "https://api.example.test", "--allowed-scope", "openid profile",
                "--default-scope", "openid", "--self-exchange")
            try await installation.command("group", "member", "add", "vendor", client, "--role", "both")
        }
        sql = try installation.session()
        broker = try installation.startBroker()
        strict = try installation.startBroker("strict") { $0.providers[0].logout = [] }
        typed = try installation.startBroker("typed") { $0.providers[0].logout = ["allow_typ_jwt"] }
        for (client, broker) in [
            ("app-one", broker), ("app-by-user", broker), ("app-strict", strict), ("app-typed", typed),
        ] {
            try await broker.untilReady()
            try await provider.register(
                client, redirectURI: Self.redirectURI(of: client),
                logoutURI: "http://127.0.0.1:\(broker.internalPort)/backchannel-logout",
                namesSession: client != "app-by-user")
        }
    }

    struct Login {
        let client: String
        let browser: Glewlwyd.Visitor
        let idToken: String
        let claims: JSONObject
        /// For the profile whose device values apps make.
        let device = Unguessable.make()
    }

    /// A user logs in at the provider, in a browser of its own unless one is given, for an app.
    func logIn(
        _ client: String = "app-one", user: String = "alice", demands: [(name: String, value: String)] = [],
        in browser: Glewlwyd.Visitor? = nil
    ) async throws -> Login {
        let browser = browser ?? Glewlwyd.Visitor(of: provider)
        try await browser.logIn(user, password: Self.password)
        let tokens = try await browser.authorize(client, redirectURI: Self.redirectURI(of: client), demands: demands)
        guard let idToken = tokens.string("id_token") else { throw Glewlwyd.Failure(description: "no id_token") }
        let claims = try UnverifiedToken.claims(of: idToken)
        return Login(client: client, browser: browser, idToken: idToken, claims: claims)
    }

    /// A code for the app, and the request that redeems it at the broker. The login belongs to the same session in the
    /// same browser; a test never sees the id_token of the code.
    func code(_ profile: NativeProfile) async throws -> (login: Login, form: TokenForm) {
        let (client, redirectURI) = ("app-one", Self.redirectURI(of: "app-one"))
        let login = try await logIn(client)
        let (code, verifier) = try await login.browser.code(client, redirectURI: redirectURI)
        let form = TokenForm.code(
            code, verifier: verifier, redirectURI: redirectURI, device: login.device, profile: profile, client: client)
        return (login, form)
    }

    func enrolment(_ login: Login, _ profile: NativeProfile) -> TokenForm {
        .enrolment(
            login.idToken, issuer: provider.issuer, device: login.device, profile: profile, client: login.client)
    }

    /// Both apps exchange and refresh with what an enrolment gave, until the user logs out at the provider.
    func ends(_ enrolled: JSONObject, of login: Login, _ profile: NativeProfile) async throws {
        let idToken = try #require(enrolled.string("id_token"))
        let device = enrolled.string("device_secret") ?? login.device
        func exchange(_ client: String) -> TokenForm {
            .exchange(
                idToken, issuer: installation.configuration.issuer, device: device, profile: profile, client: client)
        }
        var refreshTokens: [(client: String, token: String)] = []
        for client in ["app-one", "app-two"] {
            let exchanged = try await broker.token(exchange(client))
            try #require(exchanged.status == 200, "\(client): \(exchanged.text)")
            let refreshed = try await broker.token(.refresh(try #require(exchanged.refreshToken), client: client))
            try #require(refreshed.status == 200, "\(client): \(refreshed.text)")
            refreshTokens.append((client, try #require(refreshed.refreshToken)))
        }
        try await login.browser.logOut(login.idToken)
        // It tells of the logout after its answer to the user.
        try await untilEnded(try #require(login.claims.string("sid")))
        for (client, token) in refreshTokens {
            for form in [TokenForm.refresh(token, client: client), exchange(client)] {
                let refused = try await broker.token(form)
                #expect(refused.error == "invalid_grant", "\(client): \(refused.text)")
                #expect(try await sql.auditedReason(of: refused.requestID) == "session_ended")
            }
        }
    }

    /// Waits until the broker has ended the session that was enrolled from the provider's.
    func untilEnded(_ sid: String) async throws {
        _ = try await eventually("the session has ended") { [self] in
            try await sql.row(
                """
                SELECT count(*) FROM native_sso.session
                WHERE idp_issuer = '\(provider.issuer)' AND idp_sid = sha256('\(sid)') AND end_reason = 'logout'
                    AND source_client_id IS NOT NULL
                """) == "1" ? true : nil
        }
    }

    func refusals(_ reason: String) async throws -> Int {
        Int(try await sql.row("SELECT count(*) FROM native_sso.audit_event WHERE reason = '\(reason)'")) ?? 0
    }

    private static func redirectURI(of client: String) -> String { "com.example.\(client):/callback" }
}
