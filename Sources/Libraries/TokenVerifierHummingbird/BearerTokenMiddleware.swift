import HTTPTypes
public import Hummingbird
public import TokenVerifier

/// Requires a verified access token with sufficient scope, and stores its claims in the context. RFC 6750.
///
/// It reads the token from the `Authorization` field only: in a query, it would appear in logs and histories
/// (RFC 6750 §5.3). It logs nothing of the token.
public struct BearerTokenMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    private let verifier: TokenVerifier
    private let audience: String
    private let scope: [String]
    private let leeway: Duration
    private let challenge: BearerChallenge

    /// Creates the middleware for one resource server.
    ///
    /// - Parameters:
    ///   - verifier: Verifies the tokens.
    ///   - audience: The name of this resource server in `aud`.
    ///   - scope: The scopes that every request needs.
    ///   - realm: Shown to clients in `WWW-Authenticate`.
    ///   - leeway: Tolerated clock difference for `exp` and `nbf`; 5 s by default, at most 60 s.
    public init(
        verifier: TokenVerifier, audience: String, scope: [String] = [], realm: String = "api",
        leeway: Duration = .seconds(5)
    ) {
        self.verifier = verifier
        self.audience = audience
        self.scope = scope
        self.leeway = leeway
        challenge = BearerChallenge(realm: realm)
    }

    /// Responds without calling `next`: 400 for a malformed field, 401 without a valid token, 403 without the scope,
    /// 503 if the keys, or the ended sessions, are unavailable.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let fields = request.headers[values: .authorization]
        guard fields.count <= 1 else { return challenge.malformedRequest }
        let token: String
        switch fields.first.map(BearerCredentials.init) ?? .otherScheme {
        case .token(let text): token = text
        case .malformed: return challenge.malformedRequest
        case .otherScheme: return challenge.credentialsMissing
        }
        let claims: AccessTokenClaims
        do throws(VerificationError) {
            claims = try await verifier.verify(token, audience: audience, leeway: leeway)
            try claims.requires(scope: scope)
        } catch {
            return challenge.refusal(error, requiredScope: scope)
        }
        var context = context
        context.accessToken = claims
        return try await next(request, context)
    }
}

/// The content of an `Authorization` field, RFC 6750 §2.1 and RFC 9110 §11.4.
enum BearerCredentials: Equatable {
    case token(String)
    /// `Bearer` without exactly one token.
    case malformed
    /// Another scheme or an empty field: treated as no credentials.
    case otherScheme

    init(_ field: String) {
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard let scheme = parts.first, scheme.utf8.count == 6, scheme.lowercased() == "bearer" else {
            self = .otherScheme
            return
        }
        guard parts.count == 2, parts[1].utf8.allSatisfy(Self.isTokenCharacter) else {
            self = .malformed
            return
        }
        self = .token(String(parts[1]))
    }

    /// `b64token`, RFC 6750 §2.1.
    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
