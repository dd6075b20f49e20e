import HTTPTypes
import Hummingbird
import JOSE
import Logging
import NIOCore
import StrictCoding
import TokenVerifier
import TokenVerifierHummingbird

/// A sample API that takes the broker's access tokens: `GET /profile` (scope `profile`) and `GET /orders` (`orders.read`).
struct ResourceServer: Sendable {
    let name: String
    let port: Int
    /// Of the tokens.
    let issuer: String
    let keys: HTTPKeySetLoader
    let audience: String
    let logger: Logger

    func application(onServerRunning: @escaping @Sendable () -> Void) async -> some ApplicationProtocol {
        let verifier = TokenVerifier(
            issuer: issuer, algorithms: [.es256, .rs256], loader: keys,
            onLoadFailure: { [logger] in logger.error("the key set could not be loaded: \($0)") })
        await verifier.prepare()
        return Application(
            router: router(verifier),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port), serverName: name),
            onServerRunning: { _ in onServerRunning() }, logger: logger)
    }

    private func router(_ verifier: TokenVerifier) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        // Every clock here is the same one, so a token is refused in the second in which it expires.
        router.add(
            middleware: BearerTokenMiddleware(verifier: verifier, audience: audience, realm: name, leeway: .zero))
        router.group().add(middleware: ScopeMiddleware("profile", realm: name)).get("/profile") { _, context in
            try answer(to: context) { json, token in json.member("acr", token.contextClass ?? "") }
        }
        router.group().add(middleware: ScopeMiddleware("orders.read", realm: name)).get("/orders") { _, context in
            try answer(to: context) { json, _ in json.member("orders", ["a kettle", "tea"]) }
        }
        return router
    }

    /// Who answers whom, and what else there is to say.
    private func answer(
        to context: APIContext, _ members: (inout JSONWriter, AccessTokenClaims) -> Void
    ) throws -> Response {
        let token = try context.requireAccessToken()
        var json = JSONWriter()
        json.object { json in
            json.member("server", name)
            json.member("sub", token.subject)
            json.member("client_id", token.clientID)
            members(&json, token)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }
}

/// A request with its caller's token.
private struct APIContext: AccessTokenRequestContext {
    var coreContext: CoreRequestContextStorage
    var accessToken: AccessTokenClaims?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}
