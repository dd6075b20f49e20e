public import Hummingbird
import TokenVerifier

/// Asks more of some routes than ``BearerTokenMiddleware``, behind which it stands: 403 without the scope.
public struct ScopeMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    private let scope: [String]
    private let challenge: BearerChallenge

    public init(_ scope: String..., realm: String = "api") {
        self.scope = scope
        challenge = BearerChallenge(realm: realm)
    }

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
