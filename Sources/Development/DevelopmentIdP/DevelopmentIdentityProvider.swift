import Foundation
import HTTPTypes
package import Hummingbird
package import Logging
import OAuthWire
import StrictCoding

/// An OpenID provider for a developer's machine: login with a second factor, consent, code with PKCE, access tokens as JWTs,
/// discovery, userinfo, logout.
///
/// For development only. Users and their passwords lie in a file in clear, sessions and codes are in memory, it speaks plain
/// HTTP, and therefore listens on loopback and nowhere else.
package struct DevelopmentIdentityProvider: Sendable {
    /// A warning for the start-up line of the program.
    package static let warning = Page.warning

    private let provider: Provider
    private let logger: Logger

    /// - Parameters:
    ///   - sessionEndListeners: Told of every logout.
    ///   - now: Seconds since 1970.
    package init(
        _ configuration: ProviderConfiguration, users: UserDirectory, signingKeys: SigningKeys,
        sessionEndListeners: [any SessionEndListener] = [], logger: Logger,
        now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
    ) {
        provider = Provider(
            configuration: configuration, users: users, signingKeys: signingKeys,
            state: ProviderState(lifetimes: configuration.lifetimes), sessionEndListeners: sessionEndListeners, now: now
        )
        self.logger = logger
    }

    /// The server, to be run as a service.
    ///
    /// - Parameter onServerRunning: Called when it accepts connections, with the port it listens on.
    package func application(
        onServerRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) -> some ApplicationProtocol {
        Application(
            router: router,
            configuration: ApplicationConfiguration(
                address: .hostname(provider.configuration.host, port: provider.configuration.port),
                serverName: "development-idp"),
            onServerRunning: { channel in await onServerRunning(channel.localAddress?.port ?? 0) }, logger: logger)
    }

    private var router: Router<BasicRequestContext> {
        let router = Router()
        let discovery = DiscoveryController(provider: provider)
        let authorize = AuthorizeController(provider: provider)
        let logout = LogoutController(provider: provider)
        let userInfo = UserInfoController(provider: provider)
        let issuer = provider.configuration.issuer
        router.get("/") { _, _ in Response.page(.home(issuer: issuer)) }
        router.get("/.well-known/openid-configuration", use: discovery.metadata)
        router.get("/.well-known/jwks.json", use: discovery.keys)
        router.get("/authorize", use: authorize.authorize)
        router.post("/authorize", use: authorize.authorize)
        router.get(RouterPath(Page.styleAddress)) { _, _ in Response.style }
        let login = LoginController(provider: provider)
        router.post("/login", use: login.login)
        router.post("/second-factor", use: login.secondFactor)
        router.post("/consent", use: login.consent)
        router.post("/token", use: TokenController(provider: provider).token)
        router.get("/userinfo", use: userInfo.userInfo)
        router.post("/userinfo", use: userInfo.userInfo)
        router.get("/logout", use: logout.logout)
        router.post("/logout", use: logout.logout)
        return router
    }
}

/// `GET` and `POST /userinfo`: OpenID Connect Core §5.3, with a bearer token in the header (RFC 6750 §2.1).
struct UserInfoController: Sendable {
    let provider: Provider

    func userInfo(_ request: Request, _ context: some RequestContext) async -> Response {
        guard let authorization = request.headers[.authorization] else {
            // RFC 6750 §3.1: no error code where no token was sent.
            return refuse("Bearer realm=\"development-idp\"")
        }
        let scheme = "bearer "
        guard authorization.prefix(scheme.count).lowercased() == scheme,
            let (subject, scope) = await provider.state.access(
                token: String(authorization.dropFirst(scheme.count)), at: provider.now()),
            let user = provider.users.user(subject: subject)
        else { return refuse("Bearer realm=\"development-idp\", error=\"invalid_token\"") }
        return .json { json in
            json.member("sub", user.subject)
            if scope.contains("profile") {
                json.member("name", user.name)
                json.member("preferred_username", user.username)
                json.member("roles", user.roles)
            }
            if scope.contains("email") { json.member("email", user.email) }
        }
    }

    private func refuse(_ challenge: String) -> Response {
        .json(.unauthorized, headers: [.wwwAuthenticate: challenge]) { _ in }
    }
}
