import HTTPTypes
public import Hummingbird
import JOSE
public import TokenVerifier

/// Requires a verified access token with sufficient scope, and stores its claims in the context. RFC 6750, RFC 9449 §7.
///
/// It reads the token from the `Authorization` field only: in a query, it would appear in logs and histories
/// (RFC 6750 §5.3). It logs nothing of the token.
public struct BearerTokenMiddleware<Context: AccessTokenRequestContext>: RouterMiddleware {
    private let verifier: TokenVerifierSet
    private let audience: String
    private let scope: [String]
    private let proofs: ProofPolicy?
    private let leeway: Duration
    private let challenge: BearerChallenge

    /// Creates the middleware for one resource server.
    ///
    /// - Parameters:
    ///   - verifiers: One for each issuer whose tokens are taken.
    ///   - audience: The name of this resource server in `aud`.
    ///   - scope: The scopes that every request needs.
    ///   - proofs: How tokens are taken that are bound to a key (DPoP); nil: not at all.
    ///   - realm: Shown to clients in `WWW-Authenticate`.
    ///   - leeway: Tolerated clock difference for `exp` and `nbf`; 5 s by default, at most 60 s.
    public init(
        verifiers: [TokenVerifier], audience: String, scope: [String] = [], proofs: ProofPolicy? = nil,
        realm: String = "api", leeway: Duration = .seconds(5)
    ) {
        verifier = TokenVerifierSet(verifiers)
        self.audience = audience
        self.scope = scope
        self.proofs = proofs
        self.leeway = leeway
        challenge = BearerChallenge(realm: realm, takes: proofs)
    }

    /// The same for one issuer.
    public init(
        verifier: TokenVerifier, audience: String, scope: [String] = [], proofs: ProofPolicy? = nil,
        realm: String = "api", leeway: Duration = .seconds(5)
    ) {
        self.init(
            verifiers: [verifier], audience: audience, scope: scope, proofs: proofs, realm: realm, leeway: leeway)
    }

    /// Responds without calling `next`: 400 for a malformed field, 401 without a valid token, 403 without the scope,
    /// 503 if the keys, or the ended sessions, are unavailable.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let fields = request.headers[values: .authorization]
        guard fields.count <= 1 else { return challenge.malformedRequest }
        let claims: AccessTokenClaims
        do throws(VerificationError) {
            switch fields.first.map(BearerCredentials.init) ?? .otherScheme {
            case .bearer(let token) where proofs?.isRequired != true:
                claims = try await verifier.verify(token, audience: audience, leeway: leeway)
            case .proven(let token):
                guard let proofs else { return challenge.credentialsMissing }
                claims = try await verify(token, request, proofs)
            case .malformed: return challenge.malformedRequest
            case .bearer, .otherScheme: return challenge.credentialsMissing
            }
            try claims.requires(scope: scope)
        } catch {
            return challenge.refusal(error, requiredScope: scope)
        }
        var context = context
        context.accessToken = claims
        return try await next(request, context)
    }

    private func verify(
        _ token: String, _ request: Request, _ policy: ProofPolicy
    ) async throws(VerificationError) -> AccessTokenClaims {
        guard let target = TargetURI(policy.origin + request.uri.path) else { throw VerificationError(.invalidProof) }
        let (claims, proof) = try await verifier.verify(
            token, proofs: HTTPField.Name("DPoP").map { request.headers[values: $0] } ?? [],
            method: request.method.rawValue, target: target,
            audience: audience, leeway: leeway)
        try policy.used.use(proof)
        return claims
    }
}

/// How an API takes access tokens that are bound to a key. RFC 9449 §7.
public struct ProofPolicy: Sendable {
    /// The API's own URL up to the path, as clients address it: `https://api.example.com`. Proofs name it as `htu`.
    public var origin: String
    /// Whether a token without a bound key is refused.
    public var isRequired: Bool
    /// Which proofs were used.
    public var used: UsedProofs

    /// Bearer tokens are taken, too, unless `isRequired`.
    public init(origin: String, isRequired: Bool = false, used: UsedProofs = UsedProofs()) {
        self.origin = origin
        self.isRequired = isRequired
        self.used = used
    }
}

/// The content of an `Authorization` field, RFC 6750 §2.1, RFC 9449 §7.1 and RFC 9110 §11.4.
enum BearerCredentials: Equatable {
    case bearer(String)
    /// With `DPoP` as scheme.
    case proven(String)
    /// One of the two schemes without exactly one token.
    case malformed
    /// Another scheme or an empty field: treated as no credentials.
    case otherScheme

    init(_ field: String) {
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        let scheme = parts.first.map { $0.utf8.count <= 6 ? $0.lowercased() : "" }
        guard let scheme, scheme == "bearer" || scheme == "dpop" else {
            self = .otherScheme
            return
        }
        guard parts.count == 2, parts[1].utf8.allSatisfy(Self.isTokenCharacter) else {
            self = .malformed
            return
        }
        self = scheme == "bearer" ? .bearer(String(parts[1])) : .proven(String(parts[1]))
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
