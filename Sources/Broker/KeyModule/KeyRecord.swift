public import JOSE
public import NativeSSO
import StrictCoding

/// Where the private part of a key is, relative to its provider. References come back from the database, so only these
/// forms are read, none of which can lead out of the key directory.
enum KeyReference: Hashable {
    case signing(kid: String)
    /// `id` is the first octet of the refresh tokens that the key makes.
    case refreshToken(id: UInt8)
    case device

    /// `refresh-token-1.key`, `device.key`, or the kid with `.pem`.
    var fileName: String {
        switch self {
        case .signing(let kid): "\(kid).pem"
        case .refreshToken(let id): "refresh-token-\(id).key"
        case .device: "device.key"
        }
    }

    init?(_ text: String, use: KeyUse) {
        switch use {
        case .accessToken:
            guard text.hasSuffix(".pem") else { return nil }
            self = .signing(kid: String(text.dropLast(4)))
        case .refreshToken:
            guard let id = UInt8(text.dropFirst("refresh-token-".count).dropLast(".key".count)) else { return nil }
            self = .refreshToken(id: id)
        case .device: self = .device
        }
        // A thumbprint: 43 characters of base64url.
        if case .signing(let kid) = self, kid.utf8.count != 43 || Base64URL.decode(kid) == nil { return nil }
        guard fileName.hasSameOctets(as: text) else { return nil }
    }
}

/// A private key that makes signatures, wherever it lives.
public protocol SigningKey: Sendable {
    /// The public half, with `kid` (its RFC 7638 thumbprint) and `alg`.
    var publicKey: JSONWebKey { get }

    var algorithm: KeyAlgorithm { get }

    /// The signature of `message` in the form of JWS, RFC 7518 §3.3 and §3.4.
    func signature(over message: [UInt8]) async throws(KeyError) -> [UInt8]
}

/// Where a key is in its life. It only ever moves forward.
public enum KeyState: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Made, and known to nobody.
    case pending
    /// Everybody may verify with it: shown in the JWKS, accepted in refresh tokens. It makes nothing yet.
    case published
    /// What is made is made with this key; at most one per use.
    case active
    /// It makes nothing any more, but what it made is still good.
    case retired
    /// Gone: nothing it made is good.
    case removed

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (a: KeyState, b: KeyState) -> Bool { a.order < b.order }

    /// Whether what this key made is accepted.
    public var verifies: Bool { self == .published || self == .active || self == .retired }
}

/// What a key is for. A key serves one use only.
public enum KeyUse: String, Sendable, Hashable, CaseIterable {
    /// Signs access tokens, and the id_tokens that an exchange returns beside them.
    case accessToken = "access-token"
    /// Makes and checks the tags of refresh tokens.
    case refreshToken = "refresh-token"
    /// Makes the digests under which device values are stored.
    case device
}

/// The algorithm of a key. Raw values are the names of RFC 7518 §3.1.
public enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
    /// Of the keys for refresh tokens and devices; never in a JWT of ours.
    case hs256 = "HS256"

    /// Whether a key of this algorithm can serve `use`.
    public func serves(_ use: KeyUse) -> Bool {
        (self == .hs256) == (use != .accessToken)
    }
}

/// What the registry knows of a key: everything but its private part.
public struct KeyRecord: Sendable, Hashable {
    /// Of a signing key: its RFC 7638 thumbprint. Of a MAC key: its ``MACKey/checkValue``. Either way derived from
    /// the key itself, so that a file that was exchanged is noticed.
    public let kid: String
    public let use: KeyUse
    public let algorithm: KeyAlgorithm
    /// Where the provider finds the private part.
    public let reference: String
    /// The public JWK of a signing key, as JSON. For people and tools: what the broker publishes, it derives from the
    /// private part, so that write access to the database does not let anybody introduce a key.
    public let publicJWK: String?
    public let state: KeyState
    public let createdAt: UnixTime
    public let publishedAt: UnixTime?
    public let activatedAt: UnixTime?
    public let retiredAt: UnixTime?
    public let removedAt: UnixTime?

    public init(
        kid: String, use: KeyUse, algorithm: KeyAlgorithm, reference: String, publicJWK: String?, state: KeyState,
        createdAt: UnixTime, publishedAt: UnixTime? = nil, activatedAt: UnixTime? = nil, retiredAt: UnixTime? = nil,
        removedAt: UnixTime? = nil
    ) {
        self.kid = kid
        self.use = use
        self.algorithm = algorithm
        self.reference = reference
        self.publicJWK = publicJWK
        self.state = state
        self.createdAt = createdAt
        self.publishedAt = publishedAt
        self.activatedAt = activatedAt
        self.retiredAt = retiredAt
        self.removedAt = removedAt
    }
}
