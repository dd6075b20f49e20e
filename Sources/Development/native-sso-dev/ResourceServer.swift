import HTTPTypes
import Hummingbird
import JOSE
import Logging
import NIOCore
import StrictCoding
import TokenVerifier
import TokenVerifierHummingbird

/// A sample API: one path, one audience, one scope. It takes access tokens of several issuers and asks none of them.
struct ResourceServer: Sendable {
    struct Issuer: Sendable {
        /// `iss` of its tokens.
        let name: String
        let keys: HTTPKeySetLoader
        let subjectPrefix: String
    }

    let name: String
    let port: Int
    let issuers: [Issuer]
    let audience: String
    let scope: String
    let path: String
    let logger: Logger

    /// Unknown keys are looked up again after a second, so that a rotation is seen as it happens.
    static let keyPolicy = KeyCachePolicy(coolDown: .seconds(1))

    func application(onServerRunning: @escaping @Sendable () -> Void) async -> some ApplicationProtocol {
        let reserved = Set(issuers.map(\.subjectPrefix)).subtracting([""])
        let verifiers = issuers.enumerated().map { place, issuer in
            TokenVerifier(
                issuer: issuer.name, algorithms: [.es256, .rs256], loader: issuer.keys, policy: Self.keyPolicy,
                subjectPrefix: issuer.subjectPrefix,
                // The first is the broker, whose tokens have the prefixes already.
                reservedPrefixes: place > 0 && issuer.subjectPrefix.isEmpty ? reserved : [],
                onLoadFailure: { [logger] in logger.warning("the key set could not be loaded: \($0)") })
        }
        for verifier in verifiers { await verifier.prepare() }
        return Application(
            router: router(verifiers),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port), serverName: name),
            onServerRunning: { _ in onServerRunning() }, logger: logger)
    }

    private func router(_ verifiers: [TokenVerifier]) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        // Every clock here is the same one, so a token is refused in the second in which it expires.
        router.add(
            middleware: BearerTokenMiddleware(
                verifiers: verifiers, audience: audience, scope: [scope], realm: name, leeway: .zero))
        router.get(RouterPath(path)) { _, context in try answer(to: context) }
        return router
    }

    private func answer(to context: APIContext) throws -> Response {
        let token = try context.requireAccessToken()
        var json = JSONWriter()
        json.object { json in
            json.member(path.split(separator: "/").last.map(String.init) ?? "data", ["a kettle", "tea"])
            json.member("user", token.all.string("email") ?? token.subject)
            json.member("roles", token.all.strings("roles") ?? [])
            json.member("client_id", token.clientID)
            json.member("iss", token.issuer)
            json.member("source", name)
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
