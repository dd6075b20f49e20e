public import JOSE
import StrictCoding

/// Verifies access tokens (RFC 9068) offline: the issuer is asked for its keys now and then, never about a token.
///
/// One per issuer and service, shared by all requests.
public struct TokenVerifier: Sendable {
    private let issuer: String
    private let algorithms: Set<SignatureAlgorithm>
    private let acceptsSenderConstrained: Bool
    private let cache: KeyCache
    let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - issuer: `iss` of every token, octet by octet.
    ///   - algorithms: What the issuer signs with. Configured, never learned (RFC 8725 §3.1).
    ///   - loader: Gets the JWKS document.
    ///   - acceptsSenderConstrained: Set it only where DPoP proofs are checked too. Otherwise a token with `cnf` is refused: taken
    ///     as a bearer token, a stolen one would work (RFC 9449 §7.1).
    ///   - clock: Measures the age of the key set.
    ///   - now: Seconds since 1970, for `exp` and `nbf`; the system's clock unless given.
    ///   - onLoadFailure: Told why a load failed; the known keys stay in use meanwhile.
    public init<C: Clock>(
        issuer: String, algorithms: Set<SignatureAlgorithm>, loader: any KeySetLoader,
        policy: KeyCachePolicy = KeyCachePolicy(), acceptsSenderConstrained: Bool = false, clock: C = ContinuousClock(),
        now: (@Sendable () -> Int64)? = nil, onLoadFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) where C.Duration == Duration {
        self.issuer = issuer
        self.algorithms = algorithms
        self.acceptsSenderConstrained = acceptsSenderConstrained
        cache = KeyCache(loader: loader, policy: policy, clock: clock, onLoadFailure: onLoadFailure)
        self.now = now ?? systemTime
    }

    /// Loads the keys, so that the first request need not wait. A failure shows again, or is mended, with that request.
    public func prepare() async {
        _ = try? await cache.keys()
    }

    /// Verifies one access token. RFC 9068 §4.
    ///
    /// Does not check: scope, whether the session has ended since issue (at most the life of an access token ago), `iat`.
    /// - Parameters:
    ///   - audience: The name of this resource server; one of `aud`, octet by octet.
    ///   - leeway: Clock difference allowed on `exp` and `nbf`; 5 s by default, 60 s at most.
    public func verify(
        _ token: String, audience: String, leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> AccessTokenClaims {
        let claims = try await claims(of: token, audience: audience, leeway: leeway)
        guard acceptsSenderConstrained || !claims.all.contains("cnf") else {
            throw VerificationError(.senderConstrained)
        }
        return claims
    }

    /// All but whether the token is bound to a key.
    func claims(
        of token: String, audience: String, leeway: Duration
    ) async throws(VerificationError) -> AccessTokenClaims {
        let claims = try AccessTokenClaims(try await verifiedClaims(of: token))
        guard claims.issuer.hasSameOctets(as: issuer) else { throw VerificationError(.wrongIssuer) }
        guard claims.audience.contains(where: { $0.hasSameOctets(as: audience) }) else {
            throw VerificationError(.wrongAudience)
        }
        try checkTime(of: claims, leeway: leeway)
        return claims
    }

    /// Form, type, algorithm, key, signature: nothing in the token is believed before.
    private func verifiedClaims(of text: String) async throws(VerificationError) -> JSONObject {
        let token = try parse(text)
        let keys = try await VerificationError.keys { () async throws(KeyCache.KeysUnavailable) in
            try await cache.keys()
        }
        switch verified(token, by: keys) {
        case .success(let verified): return verified.claims
        case .failure(.unknownKey): break
        case .failure(let error): throw VerificationError(error)
        }
        let newer = try await VerificationError.keys { () async throws(KeyCache.KeysUnavailable) in
            try await cache.keysAfterMiss()
        }
        switch verified(token, by: newer) {
        case .success(let verified): return verified.claims
        case .failure(let error): throw VerificationError(error)
        }
    }

    private func parse(_ text: String) throws(VerificationError) -> CompactJWS {
        do throws(JWSError) {
            let token = try CompactJWS(text)
            try token.requireAlgorithm(among: algorithms)
            guard token.header.hasType("at+jwt") else { throw .wrongType }
            return token
        } catch {
            throw VerificationError(error)
        }
    }

    private func verified(_ token: CompactJWS, by keys: JSONWebKeySet) -> Result<VerifiedJWS, JWSError> {
        Result { () throws(JWSError) in try token.verified(by: keys, allowing: algorithms) }
    }

    private func checkTime(of claims: AccessTokenClaims, leeway: Duration) throws(VerificationError) {
        let leeway = min(max(leeway, .zero), .seconds(60)).components.seconds
        let now = now()
        // The leeway is on our side of each comparison: a claim can be any number, and must not overflow.
        guard claims.expiresAt > now - leeway else { throw VerificationError(.expired) }
        if let notBefore = try AccessTokenClaims.time("nbf", of: claims.all), notBefore > now + leeway {
            throw VerificationError(.notYetValid)
        }
    }
}

extension VerificationError {
    fileprivate static func keys(
        _ load: () async throws(KeyCache.KeysUnavailable) -> JSONWebKeySet
    ) async throws(VerificationError) -> JSONWebKeySet {
        do throws(KeyCache.KeysUnavailable) {
            return try await load()
        } catch {
            throw VerificationError(.keysUnavailable)
        }
    }
}

extension TokenVerifier {
    /// Clock differences allowed on a proof, in seconds: how old it may be, and how far ahead the clock of the device.
    private static let oldestProof: Int64 = 60
    private static let furthestAhead: Int64 = 30

    /// Verifies an access token that came as `Authorization: DPoP …`, and the proof that its sender holds the key that the token
    /// is bound to. RFC 9449 §7.1.
    ///
    /// Does not check, beyond what ``verify(_:audience:leeway:)`` leaves out: whether the proof was used before. A server for
    /// which that matters remembers the `jti` of each proof together with its key for 90 seconds (§11.1).
    /// - Parameters:
    ///   - proofs: Every `DPoP` field of the request.
    ///   - target: Of the request as its sender addressed it, never from a field that the sender may write.
    ///   - audience: The name of this resource server; one of `aud`, octet by octet.
    public func verify(
        _ token: String, proofs: [String], method: String, target: TargetURI, audience: String,
        leeway: Duration = .seconds(5)
    ) async throws(VerificationError) -> (claims: AccessTokenClaims, proof: DPoPProof) {
        let claims = try await claims(of: token, audience: audience, leeway: leeway)
        // A token that is bound to no key is a bearer token, and comes as one.
        guard let thumbprint = claims.proofKeyThumbprint else { throw VerificationError(.notSenderConstrained) }
        let now = now()
        do throws(DPoPDefect) {
            let proof = try DPoPProof(
                proofs, method: method, target: target, times: now - Self.oldestProof...now + Self.furthestAhead)
            try proof.requireAccessToken(token, boundTo: thumbprint)
            return (claims, proof)
        } catch {
            throw VerificationError(.invalidProof)
        }
    }
}
