public import StrictCoding

/// A token whose signature was verified, and its claims, read from the very octets that were verified.
///
/// Made by ``CompactJWS/verified(by:)`` only. Says nothing yet about what the claims must be.
public struct VerifiedJWS: Sendable {
    public let header: JOSEHeader
    public let claims: JSONObject
    /// The key that verified the token.
    public let key: JSONWebKey

    fileprivate init(_ token: CompactJWS, key: JSONWebKey) throws(JWSError) {
        header = token.header
        self.key = key
        guard case .object(let claims) = try Self.parse(token) else { throw .payloadNotObject }
        self.claims = claims
    }

    private static func parse(_ token: CompactJWS) throws(JWSError) -> JSONValue {
        do throws(JSONError) {
            return try JSONReader.parse(token.payload, limits: token.limits.json)
        } catch {
            throw .payloadNotJSON(error)
        }
    }
}

extension CompactJWS {
    /// Checks the signature with `key`, under the algorithm of the header if the key may serve it, and reads the claims.
    ///
    /// - Throws: `.keyDoesNotFitAlgorithm`, `.badSignature`, `.payloadNotJSON`, `.payloadNotObject`.
    public func verified(by key: JSONWebKey) throws(JWSError) -> VerifiedJWS {
        guard key.supports(header.algorithm) else { throw .keyDoesNotFitAlgorithm }
        guard key.verifies(signature, of: signingInput, algorithm: header.algorithm) else { throw .badSignature }
        return try VerifiedJWS(self, key: key)
    }

    /// Throws `.algorithmNotAllowed` unless the signature claims to be of a kind that its maker may use. RFC 8725 §3.1.
    public func requireAlgorithm(among allowed: Set<SignatureAlgorithm>) throws(JWSError) {
        guard allowed.contains(where: { $0.isSame(as: header.algorithm) }) else { throw .algorithmNotAllowed }
    }

    /// Requires the algorithm, picks the key by `kid` and algorithm, checks the signature and reads the claims: RFC 8725 §3.1.
    ///
    /// - Parameters:
    ///   - keys: The keys of the one party that may have signed.
    ///   - allowed: The algorithms that this party may use.
    public func verified(
        by keys: JSONWebKeySet, allowing allowed: Set<SignatureAlgorithm>
    ) throws(JWSError) -> VerifiedJWS {
        try requireAlgorithm(among: allowed)
        return try verified(by: try keys.key(for: header))
    }
}
