public import JOSE
import StrictCoding

/// Verifies access tokens (RFC 9068) offline: it loads the issuer's keys and never sends a token.
///
/// Create one per issuer and service, and share it between requests.
public struct TokenVerifier: Sendable {
    let issuer: String
    private let algorithms: Set<SignatureAlgorithm>
    private let acceptsSenderConstrained: Bool
    private let subjectPrefix: String
    private let reservedPrefixes: Set<String>
    private let cache: KeyCache
    private let verifiedTokens: VerifiedTokens?
    let now: @Sendable () -> Int64

    /// Creates a verifier. It loads the keys on first use; see ``prepare()``.
    ///
    /// - Parameters:
    ///   - issuer: The exact `iss` of every token.
    ///   - algorithms: The issuer's signature algorithms. Configure them; never take them from a token (RFC 8725 §3.1).
    ///   - loader: Loads the JWKS document.
    ///   - policy: When the key set is loaded, and how long it is used.
    ///   - acceptsSenderConstrained: Whether ``verify(_:audience:leeway:)`` accepts tokens with `cnf`. Set it only if
    ///     you check DPoP proofs: otherwise a stolen bound token would work as a bearer token (RFC 9449 §7.1).
    ///   - subjectPrefix: Put before each `sub`. If the issuer is an identity provider of the broker, write its
    ///     `subject_prefix`: its own tokens and the broker's then name one user alike. The broker's tokens have it already.
    ///   - reservedPrefixes: If the issuer is the identity provider without `subject_prefix`: those of all others. A token
    ///     whose `sub` begins with one is refused, as the broker refuses it.
    ///   - cachedTokens: How many verified tokens it remembers, each with its claims, some 3 KiB. A remembered token needs no
    ///     signature check until the issuer's keys change; everything else is checked again. 0: none.
    ///   - clock: Measures the age of the key set.
    ///   - now: The time in seconds since 1970, for `exp` and `nbf`; default: the system clock.
    ///   - onLoadFailure: Receives the error of each failed load; the known keys stay in use.
    public init<C: Clock>(
        issuer: String, algorithms: Set<SignatureAlgorithm>, loader: any KeySetLoader,
        policy: KeyCachePolicy = KeyCachePolicy(), acceptsSenderConstrained: Bool = false,
        subjectPrefix: String = "", reservedPrefixes: Set<String> = [], cachedTokens: Int = 1000,
        clock: C = ContinuousClock(), now: (@Sendable () -> Int64)? = nil,
        onLoadFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) where C.Duration == Duration {
        self.issuer = issuer
        self.algorithms = algorithms
        self.acceptsSenderConstrained = acceptsSenderConstrained
        self.subjectPrefix = subjectPrefix
        self.reservedPrefixes = reservedPrefixes
        verifiedTokens = cachedTokens > 0 ? VerifiedTokens(capacity: cachedTokens) : nil
        cache = KeyCache(loader: loader, policy: policy, clock: clock, onLoadFailure: onLoadFailure)
        self.now = now ?? systemTime
    }

    /// Loads the keys, so that the first request need not wait. Ignores a failure: the first request tries again.
    public func prepare() async {
        _ = try? await cache.keys()
    }

    /// Verifies one access token. RFC 9068 §4.
    ///
    /// Does not check: scope, `iat`, and whether the session has ended since the token was issued (at most its lifetime
    /// ago). Only the broker's introspection endpoint (RFC 7662) knows that.
    /// - Parameters:
    ///   - token: The access token.
    ///   - audience: The name of this resource server, which `aud` must contain exactly.
    ///   - leeway: Tolerated clock difference for `exp` and `nbf`; 5 s by default, at most 60 s.
    /// - Throws: ``VerificationError``; `keysUnavailable` is an outage.
    public func verify(
        _ token: String, audience: String, leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> AccessTokenClaims {
        try await verify(PresentedToken(token), audience: audience, leeway: leeway)
    }

    func verify(
        _ token: PresentedToken, audience: String, leeway: Duration
    ) async throws(VerificationError) -> AccessTokenClaims {
        let claims = try await claims(of: token, audience: audience, leeway: leeway)
        guard acceptsSenderConstrained || !claims.all.contains("cnf") else {
            throw VerificationError(.senderConstrained)
        }
        return claims
    }

    /// Checks everything except key binding.
    func claims(
        of token: PresentedToken, audience: String, leeway: Duration
    ) async throws(VerificationError) -> AccessTokenClaims {
        let claims = try await signedClaims(of: token)
        guard claims.audience.contains(where: { $0.hasSameOctets(as: audience) }) else {
            throw VerificationError(.wrongAudience)
        }
        try checkTime(of: claims, leeway: leeway)
        return claims
    }

    /// Checks what no time changes: form, type, algorithm, key, signature, and the form of the claims.
    private func signedClaims(of token: PresentedToken) async throws(VerificationError) -> AccessTokenClaims {
        let keys = try await usableKeys()
        let digest = verifiedTokens.map { _ in VerifiedTokens.digest(of: token.text) }
        if let digest, let claims = verifiedTokens?.claims(of: digest, keys: keys.version) { return claims }
        let (verified, by) = try await verifiedClaims(of: token, keys)
        let claims = try AccessTokenClaims(verified, subjectPrefix: subjectPrefix, reservedPrefixes: reservedPrefixes)
        guard claims.issuer.hasSameOctets(as: issuer) else { throw VerificationError(.wrongIssuer) }
        if let digest { verifiedTokens?.insert(claims, of: digest, keys: by) }
        return claims
    }

    private func usableKeys() async throws(VerificationError) -> KeyCache.LoadedKeys {
        try await VerificationError.keys { () async throws(KeyCache.KeysUnavailable) in try await cache.keys() }
    }

    /// Checks form, type, algorithm, key and signature, before any claim is used.
    /// - Returns: The claims, and the version of the key set that verified them.
    private func verifiedClaims(
        of token: PresentedToken, _ keys: KeyCache.LoadedKeys
    ) async throws(VerificationError) -> (JSONObject, Int) {
        let token = try checked(try token.parsed())
        switch verified(token, by: keys.keys) {
        case .success(let verified): return (verified.claims, keys.version)
        case .failure(.unknownKey): break
        case .failure(let error): throw VerificationError(error)
        }
        let newer = try await VerificationError.keys { () async throws(KeyCache.KeysUnavailable) in
            try await cache.keysAfterMiss()
        }
        switch verified(token, by: newer.keys) {
        case .success(let verified): return (verified.claims, newer.version)
        case .failure(let error): throw VerificationError(error)
        }
    }

    private func checked(_ token: CompactJWS) throws(VerificationError) -> CompactJWS {
        do throws(JWSError) {
            try token.requireAlgorithm(among: algorithms)
            guard token.header.hasType("at+jwt") else { throw .wrongType }
            return token
        } catch {
            throw VerificationError(error)
        }
    }

    /// - Parameter token: With an algorithm of this issuer: ``checked(_:)``.
    private func verified(_ token: CompactJWS, by keys: JSONWebKeySet) -> Result<VerifiedJWS, JWSError> {
        Result { () throws(JWSError) in try token.verified(by: try keys.key(for: token.header)) }
    }

    private func checkTime(of claims: AccessTokenClaims, leeway: Duration) throws(VerificationError) {
        let leeway = min(max(leeway, .zero), .seconds(60)).components.seconds
        let now = now()
        // The leeway changes the clock, not the claim: a claim may be any number, and the sum could overflow.
        guard claims.expiresAt > now - leeway else { throw VerificationError(.expired) }
        if let notBefore = try AccessTokenClaims.time("nbf", of: claims.all), notBefore > now + leeway {
            throw VerificationError(.notYetValid)
        }
    }
}

extension VerificationError {
    fileprivate static func keys(
        _ load: () async throws(KeyCache.KeysUnavailable) -> KeyCache.LoadedKeys
    ) async throws(VerificationError) -> KeyCache.LoadedKeys {
        do throws(KeyCache.KeysUnavailable) {
            return try await load()
        } catch {
            throw VerificationError(.keysUnavailable)
        }
    }
}

extension TokenVerifier {
    /// Tolerated age of a proof, and lead of the device's clock, in seconds.
    static let oldestProof: Int64 = 60
    static let furthestAhead: Int64 = 30

    /// Verifies an access token from `Authorization: DPoP …` together with its proof. RFC 9449 §7.1.
    ///
    /// Does not check what ``verify(_:audience:leeway:)`` leaves out, and not whether the proof was used before: for that,
    /// give the proof to ``UsedProofs`` (§11.1).
    /// - Parameters:
    ///   - token: The access token.
    ///   - proofs: Every `DPoP` header field of the request.
    ///   - method: The HTTP method of the request.
    ///   - target: The request's URL as the client addressed it; never from a header field that the client controls.
    ///   - audience: The name of this resource server, which `aud` must contain exactly.
    ///   - leeway: Tolerated clock difference for `exp` and `nbf`; 5 s by default, at most 60 s.
    /// - Throws: ``VerificationError``; `keysUnavailable` is an outage.
    public func verify(
        _ token: String, proofs: [String], method: String, target: TargetURI, audience: String,
        leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> (claims: AccessTokenClaims, proof: DPoPProof) {
        try await verify(
            PresentedToken(token), proofs: proofs, method: method, target: target, audience: audience, leeway: leeway)
    }

    func verify(
        _ token: PresentedToken, proofs: [String], method: String, target: TargetURI, audience: String,
        leeway: Duration
    ) async throws(VerificationError) -> (claims: AccessTokenClaims, proof: DPoPProof) {
        let claims = try await claims(of: token, audience: audience, leeway: leeway)
        // A token without a bound key must come as a bearer token.
        guard let thumbprint = claims.proofKeyThumbprint else { throw VerificationError(.notSenderConstrained) }
        let now = now()
        do throws(DPoPDefect) {
            let proof = try DPoPProof(
                proofs, method: method, target: target, times: now - Self.oldestProof...now + Self.furthestAhead)
            try proof.requireAccessToken(token.text, boundTo: thumbprint)
            return (claims, proof)
        } catch {
            throw VerificationError(.invalidProof)
        }
    }
}

/// A token, parsed once although ``TokenVerifierSet`` looks into it before the chosen verifier does.
struct PresentedToken: Sendable {
    let text: String
    private var token: CompactJWS?

    init(_ text: String) { self.text = text }

    /// `iss` as it was sent: to select the verifier.
    mutating func issuer() throws(VerificationError) -> String? {
        var parsed = try parsed()
        defer { token = parsed }
        return parsed.readIssuer()
    }

    func parsed() throws(VerificationError) -> CompactJWS {
        if let token { return token }
        do throws(JWSError) {
            return try CompactJWS(text)
        } catch {
            throw VerificationError(error)
        }
    }
}
