import Crypto
import StrictCoding

/// A verified DPoP proof: its sender holds the private half of ``key``. RFC 9449 §4.2.
///
/// Does not check: replay and the value of the nonce.
public struct DPoPProof: Sendable {
    /// The sender's public key, from the proof's own header.
    public let key: JSONWebKey
    /// `jti`: unique among the proofs of one key.
    public let tokenID: String
    /// `iat`, in seconds since 1970.
    public let issuedAt: Int64
    public let nonce: String?
    private let accessTokenHash: String?

    /// The signature algorithms that a proof may use. RFC 8725 §3.1.
    public static let algorithms: Set<SignatureAlgorithm> = [.es256, .es384, .ed25519, .edDSA, .ps256, .rs256]

    /// In octets. It bounds the hashing per proof.
    public static let longestTokenID = 256

    /// In octets. The claims of a proof are short; the largest key takes 1.4 KiB of the header.
    private static let limits = CompactJWS.Limits(token: 8 << 10, payload: 4 << 10)

    /// Verifies the only proof of a request. RFC 9449 §4.3.
    ///
    /// Checks the signature before it reads a claim.
    /// - Parameters:
    ///   - fields: Every `DPoP` header field of the request, at least one.
    ///   - method: The request's method, compared with `htm`.
    ///   - target: The request's URI as the client saw it, compared with `htu`.
    ///   - times: The accepted range of `iat`, in seconds since 1970.
    public init(_ fields: [String], method: String, target: TargetURI, times: ClosedRange<Int64>) throws(DPoPDefect) {
        guard fields.count == 1, !fields[0].utf8.contains(UInt8(ascii: ",")) else { throw .repeated }
        let proof = try Self.verified(fields[0])
        let claims = proof.claims
        guard let htm = claims.string("htm"), htm.hasSameOctets(as: method) else { throw .method }
        guard let htu = claims.string("htu"), TargetURI(htu) == target else { throw .target }
        guard let issuedAt = claims.number("iat")?.wholeSeconds, times.contains(issuedAt) else { throw .issuedAt }
        guard let tokenID = claims.string("jti"), (1...Self.longestTokenID).contains(tokenID.utf8.count) else {
            throw .tokenID
        }
        if claims.contains("nonce") {
            guard let nonce = claims.string("nonce") else { throw .nonce }
            self.nonce = nonce
        } else {
            nonce = nil
        }
        key = proof.key
        self.tokenID = tokenID
        self.issuedAt = issuedAt
        accessTokenHash = claims.string("ath")
    }

    /// `jkt`: the RFC 7638 thumbprint of the key, in base64url.
    public var keyThumbprint: String { Base64URL.encode(key.thumbprint) }

    /// Requires that the proof names this access token (`ath`) and uses the key that the token is bound to. RFC 9449
    /// §4.3 check 12, §7.1.
    ///
    /// - Parameter boundTo: `cnf.jkt` of the token.
    public func requireAccessToken(_ token: String, boundTo thumbprint: String) throws(DPoPDefect) {
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
        guard let accessTokenHash, accessTokenHash.hasSameOctets(as: hash) else { throw .accessToken }
        guard keyThumbprint.hasSameOctets(as: thumbprint) else { throw .key }
    }

    /// Anyone can send a proof, so its key must not choose how long the verification takes: an RSA key has at most 4096
    /// bits and the exponent 65537.
    private static func isCheap(_ key: JSONWebKey) -> Bool {
        guard case .rsa(let modulus, let exponent) = key.parameters else { return true }
        return modulus.count <= 512 && exponent == [1, 0, 1]
    }

    private static func verified(_ field: String) throws(DPoPDefect) -> VerifiedJWS {
        let token = try DPoPDefect.refusing { () throws(JWSError) in
            let token = try CompactJWS(field, limits: limits)
            guard token.header.hasType("dpop+jwt") else { throw .wrongType }
            try token.requireAlgorithm(among: algorithms)
            return token
        }
        guard let json = token.header.parameters.object("jwk") else { throw .key }
        let key: JSONWebKey
        do throws(JSONWebKeyError) {
            key = try JSONWebKey(json)
        } catch {
            throw DPoPDefect(error)
        }
        guard isCheap(key) else { throw .key }
        return try DPoPDefect.refusing { () throws(JWSError) in try token.verified(by: key) }
    }
}

extension DPoPDefect {
    fileprivate static func refusing<Value>(_ work: () throws(JWSError) -> Value) throws(DPoPDefect) -> Value {
        do throws(JWSError) {
            return try work()
        } catch {
            throw DPoPDefect(error)
        }
    }
}

/// Why a DPoP proof was refused: RFC 9449 §4.3, in the order of the checks.
public enum DPoPDefect: Error, Sendable, CaseIterable {
    /// More than one `DPoP` field, or several values in one.
    case repeated
    /// Not a compact JWS, or not acceptable JSON.
    case malformed
    /// An unsupported JWS extension, or a header member of the wrong type.
    case header
    case wrongType
    /// `none`, a MAC, or an algorithm that proofs may not use.
    case algorithm
    /// The header has no `jwk`, or `jwk` is not a supported signature key, or an RSA key over 4096 bits or with another
    /// exponent than 65537.
    case key
    /// The key in the header has private members.
    case privateKey
    case weakKey
    case signature
    case method
    case target
    /// Missing, too old, or too far ahead.
    case issuedAt
    case tokenID
    /// `nonce` is present, but not a string.
    case nonce
    /// `ath` is not the hash of the access token that came with the proof.
    case accessToken
}

extension DPoPDefect {
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .malformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .header
        case .wrongType: self = .wrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .algorithm
        case .unknownKey, .ambiguousKey: self = .key
        case .badSignature: self = .signature
        }
    }

    init(_ error: JSONWebKeyError) {
        switch error {
        case .privateKey: self = .privateKey
        case .weakKey: self = .weakKey
        case .notObject, .unsupportedKeyType, .unsupportedAlgorithm, .algorithmDoesNotFitKey, .notForVerification,
            .malformedMember, .invalidPoint:
            self = .key
        }
    }
}
