public import StrictCoding

/// A signed token in compact form (RFC 7515 §7.1): parsed, not verified.
///
/// The claims are private until ``verified(by:)`` has checked the signature over the same octets.
public struct CompactJWS: Sendable {
    public struct Limits: Sendable {
        /// Octets of the whole token.
        public var token: Int
        /// Octets of the decoded header.
        public var header: Int
        /// Octets of the decoded payload.
        public var payload: Int
        /// Applies to header and payload separately.
        public var json: JSONLimits

        public init(token: Int = 16 << 10, header: Int = 2 << 10, payload: Int = 12 << 10, json: JSONLimits = .default)
        {
            self.token = token
            self.header = header
            self.payload = payload
            self.json = json
        }

        /// 16 KiB in all, 2 KiB of header, 12 KiB of payload.
        public static let `default` = Limits()
    }

    public let header: JOSEHeader
    public let signature: [UInt8]
    let payload: [UInt8]
    let limits: Limits
    /// The claims, once ``readIssuer()`` has parsed them; not verified.
    private(set) var claims: JSONObject?
    private let token: [UInt8]
    private let signedCount: Int

    /// The signed octets: header and payload as sent, with the dot between them.
    public var signingInput: ArraySlice<UInt8> { token[..<signedCount] }

    /// `sub` as sent; the signature is not verified. Use it only to find the signer's keys.
    package var unverifiedSubject: String? { unverifiedClaims?.string("sub") }

    /// `iss` as it was sent; see ``unverifiedSubject``.
    package var unverifiedIssuer: String? { unverifiedClaims?.string("iss") }

    /// ``unverifiedIssuer``. The claims need not be parsed again after the signature check.
    package mutating func readIssuer() -> String? {
        claims = unverifiedClaims
        return claims?.string("iss")
    }

    private var unverifiedClaims: JSONObject? { (try? JSONReader.parse(payload, limits: limits.json))?.object }

    /// Parses `token`. Checks length and dots before decoding, so a megabyte of dots costs nothing.
    public init(_ token: some Collection<UInt8>, limits: Limits = .default) throws(JWSError) {
        guard token.count <= limits.token else { throw .tooLong }
        let token = Array(token)
        let (first, second) = try Self.dots(of: token)
        guard first > 0, second > first + 1, second < token.count - 1 else { throw .emptySegment }

        let header = try Self.decode(token[..<first], atMost: limits.header)
        self.header = try JOSEHeader(header, limits: limits.json)
        payload = try Self.decode(token[(first + 1)..<second], atMost: limits.payload)
        signature = try Self.decode(token[(second + 1)...], atMost: Self.longestSignature)
        self.token = token
        self.limits = limits
        signedCount = second
    }

    /// Parses `token`; see ``init(_:limits:)-(Collection<UInt8>,_)``.
    public init(_ token: String, limits: Limits = .default) throws(JWSError) {
        try self.init(token.utf8, limits: limits)
    }

    /// In octets: the signature of the largest RSA key, the longest of any algorithm.
    private static let longestSignature = JSONWebKey.largestModulus / 8

    private static func dots(of token: [UInt8]) throws(JWSError) -> (Int, Int) {
        var (count, first, second) = (0, 0, 0)
        for index in token.indices where token[index] == UInt8(ascii: ".") {
            count += 1
            if count > 4 { throw .notCompact }
            if count == 1 { first = index } else if count == 2 { second = index }
        }
        guard count != 4 else { throw .encrypted }
        guard count == 2 else { throw .notCompact }
        return (first, second)
    }

    private static func decode(_ segment: ArraySlice<UInt8>, atMost count: Int) throws(JWSError) -> [UInt8] {
        guard segment.count / 4 * 3 <= count else { throw .tooLong }
        guard let bytes = Base64URL.decode(segment) else { throw .notBase64URL }
        guard bytes.count <= count else { throw .tooLong }
        return bytes
    }
}

/// Why a token was refused before its claims were read. No case holds a secret, so every case can go into the audit
/// log.
public enum JWSError: Error, Sendable, Equatable {
    // The compact form, RFC 7515 §7.1.
    /// Token, header or payload is longer than the caller allows.
    case tooLong
    /// Not three segments.
    case notCompact
    /// Five segments: an encrypted token (JWE). The broker never decrypts or inflates one.
    case encrypted
    /// `h.p.`, `h..s` or `.p.s`.
    case emptySegment
    /// A segment is not canonical base64url.
    case notBase64URL
    case headerNotJSON(JSONError)
    case payloadNotJSON(JSONError)
    case headerNotObject
    case payloadNotObject

    // The header, RFC 7515 §4.
    /// `alg`, `kid` or `typ` is missing where it is required, of the wrong type, empty or too long.
    case malformedHeader
    /// `crit` is present: this verifier supports no extension (RFC 7515 §4.1.11).
    case criticalHeader
    /// `b64` is present (RFC 7797).
    case unencodedPayload
    /// `zip` is present (RFC 8725 §3.6).
    case compressed
    /// `alg` is not supported: `none`, an HMAC, or a supported name in another spelling.
    case unsupportedAlgorithm
    /// `typ` names another kind of token (RFC 8725 §3.11).
    case wrongType

    // The key and the signature.
    /// `alg` is supported, but this issuer may not use it.
    case algorithmNotAllowed
    /// No key of the issuer has this `kid`; or the token has no `kid`, and no key supports `alg`.
    case unknownKey
    /// The token has no `kid`, and several keys support `alg`.
    case ambiguousKey
    /// The key with this `kid` does not support this `alg`.
    case keyDoesNotFitAlgorithm
    case badSignature
}

/// The supported signature algorithms: RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2.
///
/// This type has no `none` and no HMAC, so no allow-list, key or header can name them. Raw values are the registered,
/// case-sensitive names.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519 under the older, polymorphic name; Ed448 is not supported.
    case edDSA = "EdDSA"
    case ed25519 = "Ed25519"

    /// The algorithm with exactly this name.
    public init?(name: String) {
        guard let algorithm = Self.allCases.first(where: { $0.rawValue.hasSameOctets(as: name) }) else { return nil }
        self = algorithm
    }

    /// Whether both names mean the same algorithm: `EdDSA` means `Ed25519` here (RFC 9864 §2.2).
    public func isSame(as other: SignatureAlgorithm) -> Bool { canonical == other.canonical }

    private var canonical: SignatureAlgorithm { self == .edDSA ? .ed25519 : self }
}
