public import Hummingbird
public import TokenVerifier

/// A request context that carries the caller's access token once it was verified.
///
///     struct APIContext: AccessTokenRequestContext {
///         var coreContext: CoreRequestContextStorage
///         var accessToken: AccessTokenClaims?
///         init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
///     }
public protocol AccessTokenRequestContext: RequestContext {
    /// nil until ``BearerTokenMiddleware`` has verified a token. There is no default caller.
    var accessToken: AccessTokenClaims? { get set }
}

extension AccessTokenRequestContext {
    /// The verified token; an error that answers 401 where a route was left outside the middleware by mistake.
    public func requireAccessToken() throws -> AccessTokenClaims {
        guard let accessToken else { throw HTTPError(.unauthorized) }
        return accessToken
    }
}
