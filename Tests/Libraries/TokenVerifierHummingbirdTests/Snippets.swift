// The Swift of the library's pages. Each block there stands here as it is: see `SnippetTests`.

import Hummingbird
import JOSE
import TokenVerifier
import TokenVerifierHummingbird

struct APIContext: AccessTokenRequestContext {
    var coreContext: CoreRequestContextStorage
    var accessToken: AccessTokenClaims?
    init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
}

func makeAPI(_ keys: any KeySetLoader) -> Router<APIContext> {
    let verifier = TokenVerifier(issuer: "https://sso.example.com", algorithms: [.es256], loader: keys)
    let router = Router(context: APIContext.self)
    router.add(middleware: BearerTokenMiddleware(verifier: verifier, audience: "https://api.example.com"))
    router.get("orders") { _, context in
        try "Orders of \(context.requireAccessToken().subject)"
    }
    return router
}

func addRefunds(to router: Router<APIContext>) {
    router.group("refunds")
        .add(middleware: ScopeMiddleware("refunds.write"))
        .post { _, _ in HTTPResponse.Status.accepted }
}
