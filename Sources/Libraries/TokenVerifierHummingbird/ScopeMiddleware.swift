public import Hummingbird
import TokenVerifier

/// Requires additional scopes for some routes. Place it behind ``BearerTokenMiddleware``. RFC 6750 §3.1.
public struct ScopeMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    private let scope: [String]
    private let challenge: BearerChallenge

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - scope: All of these scopes are required.
    ///   - realm: Shown to clients in `WWW-Authenticate`.
    public init(_ scope: String..., realm: String = "api") {
        self.scope = scope
        challenge = BearerChallenge(realm: realm)
    }

    /// Responds 403 without the scopes, and 401 without a verified token.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do throws(VerificationError) {
            try context.accessToken?.requires(scope: scope)
        } catch {
            return challenge.refusal(error, requiredScope: scope)
        }
        guard context.accessToken != nil else { return challenge.credentialsMissing }
        return try await next(request, context)
    }
}
