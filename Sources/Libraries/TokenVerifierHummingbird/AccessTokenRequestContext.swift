public import Hummingbird
public import TokenVerifier

/// A request context with the verified access token of the caller.
///
///     struct APIContext: AccessTokenRequestContext {
///         var coreContext: CoreRequestContextStorage
///         var accessToken: AccessTokenClaims?
///         init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
///     }
public protocol AccessTokenRequestContext: RequestContext {
    /// nil until ``BearerTokenMiddleware`` has verified a token; there is no default caller.
    var accessToken: AccessTokenClaims? { get set }
}

extension AccessTokenRequestContext {
    /// The verified token. Throws an error that answers 401 if the route is outside the middleware by mistake.
    public func requireAccessToken() throws -> AccessTokenClaims {
        guard let accessToken else { throw HTTPError(.unauthorized) }
        return accessToken
    }
}
