public import Foundation
public import Hummingbird
public import Logging

/// An OpenID provider for a developer's machine: login page, code with PKCE, discovery, userinfo, logout.
///
/// For development only. Users and their passwords lie in a file in clear, sessions and codes are in memory, it speaks plain
/// HTTP, and therefore listens on loopback and nowhere else.
public struct DevelopmentIdentityProvider: Sendable {
    /// For the start-up line of whoever runs it.
    public static let warning = Page.warning

    private let provider: Provider
    private let logger: Logger

    /// - Parameters:
    ///   - sessionEndListeners: Told of every logout.
    ///   - now: Seconds since 1970.
    public init(
        _ configuration: ProviderConfiguration, users: UserDirectory, signingKey: SigningKey,
        sessionEndListeners: [any SessionEndListener] = [], logger: Logger,
        now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
    ) {
        provider = Provider(
            configuration: configuration, users: users, signingKey: signingKey,
            state: ProviderState(lifetimes: configuration.lifetimes), sessionEndListeners: sessionEndListeners, now: now
        )
        self.logger = logger
    }

    /// The server, to be run as a service.
    ///
    /// - Parameter onServerRunning: Called when it accepts connections, with the port it listens on.
    public func application(
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
        router.post("/login", use: LoginController(provider: provider).login)
        router.post("/token", use: TokenController(provider: provider).token)
        router.get("/userinfo", use: userInfo.userInfo)
        router.post("/userinfo", use: userInfo.userInfo)
        router.get("/logout", use: logout.logout)
        router.post("/logout", use: logout.logout)
        return router
    }
}
