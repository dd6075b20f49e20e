public import StrictCoding

/// A token with a verified signature. The claims come from the verified octets.
///
/// Only ``CompactJWS/verified(by:)`` creates one. The values of the claims are not checked yet.
public struct VerifiedJWS: Sendable {
    public let header: JOSEHeader
    public let claims: JSONObject
    public let key: JSONWebKey

    fileprivate init(_ token: CompactJWS, key: JSONWebKey) throws(JWSError) {
        header = token.header
        self.key = key
        if let claims = token.claims {
            self.claims = claims
            return
        }
        guard
            case .object(let claims) = try JSONReader.parse(
                token.payload, limits: token.limits.json, failingWith: JWSError.payloadNotJSON)
        else { throw .payloadNotObject }
        self.claims = claims
    }
}

extension CompactJWS {
    /// Verifies the signature with `key` and the header's algorithm, and reads the claims.
    ///
    /// - Throws: `.keyDoesNotFitAlgorithm`, `.badSignature`, `.payloadNotJSON`, `.payloadNotObject`.
    public func verified(by key: JSONWebKey) throws(JWSError) -> VerifiedJWS {
        guard key.supports(header.algorithm) else { throw .keyDoesNotFitAlgorithm }
        guard key.verifier.verifies(signature, of: signingInput, algorithm: header.algorithm) else {
            throw .badSignature
        }
        return try VerifiedJWS(self, key: key)
    }

    /// Throws `.algorithmNotAllowed` unless `allowed` contains the header's algorithm. RFC 8725 §3.1.
    public func requireAlgorithm(among allowed: Set<SignatureAlgorithm>) throws(JWSError) {
        guard allowed.contains(where: { $0.isSame(as: header.algorithm) }) else { throw .algorithmNotAllowed }
    }

    /// Checks the algorithm, selects the key by `kid` and algorithm, verifies the signature and reads the claims.
    /// RFC 8725 §3.1.
    ///
    /// - Parameters:
    ///   - keys: The keys of the issuer.
    ///   - allowed: The algorithms that the issuer may use.
    public func verified(
        by keys: JSONWebKeySet, allowing allowed: Set<SignatureAlgorithm>
    ) throws(JWSError) -> VerifiedJWS {
        try requireAlgorithm(among: allowed)
        return try verified(by: try keys.key(for: header))
    }
}

/// The header of a compact JWS, RFC 7515 §4. It only helps to select a key.
///
/// This parser never uses `jwk`, `jku`, `x5u` and `x5c`. ``DPoPProof`` reads the proof's own key from ``parameters``.
public struct JOSEHeader: Sendable, Equatable {
    public let algorithm: SignatureAlgorithm
    public let keyID: String?
    /// `typ` as sent.
    public let type: String?
    /// The whole header.
    public let parameters: JSONObject

    /// In octets: key identifiers go into logs and look-ups.
    static let longestKeyID = 255

    init(_ bytes: [UInt8], limits: JSONLimits) throws(JWSError) {
        guard
            case .object(let parameters) = try JSONReader.parse(
                bytes, limits: limits, failingWith: JWSError.headerNotJSON)
        else { throw .headerNotObject }
        guard !parameters.contains("crit") else { throw .criticalHeader }
        guard !parameters.contains("b64") else { throw .unencodedPayload }
        guard !parameters.contains("zip") else { throw .compressed }
        guard let name = parameters.string("alg") else { throw .malformedHeader }
        guard let algorithm = SignatureAlgorithm(name: name) else { throw .unsupportedAlgorithm }
        self.algorithm = algorithm
        keyID = try parameters.shortText("kid", orThrow: JWSError.malformedHeader)
        type = try parameters.shortText("typ", orThrow: JWSError.malformedHeader)
        self.parameters = parameters
    }

    /// Whether `typ` is present and names `mediaType` (given without `application/`). Ignores case and an
    /// `application/` prefix in the token (RFC 7515 §4.1.9).
    public func hasType(_ mediaType: String) -> Bool {
        guard let type else { return false }
        if type.hasSameOctets(as: mediaType) { return true }
        let prefix = "application/"
        let written = type.lowercased()
        let expected = mediaType.lowercased()
        return written.hasSameOctets(as: expected) || written.hasSameOctets(as: prefix + expected)
    }
}

extension JSONObject {
    /// The text of an optional member. Throws if it is no text, empty, or longer than a key identifier may be.
    func shortText<Failure>(_ name: String, orThrow failure: Failure) throws(Failure) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string, !text.isEmpty, text.utf8.count <= JOSEHeader.longestKeyID else { throw failure }
        return text
    }
}
