/// The state of a key. It only moves forward.
package enum KeyState: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Generated, but not published.
    case pending
    /// In the JWKS, and accepted in refresh tokens, but not used for signing yet.
    case published
    /// The key that signs or tags; at most one per use, algorithm and replica.
    case active
    /// No longer used, but its tokens stay valid.
    case retired
    /// Removed. Everything that it signed is invalid.
    case removed

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    package static func < (a: KeyState, b: KeyState) -> Bool { a.order < b.order }

    /// Whether this key signs or will sign.
    package var maySign: Bool { self < .retired }

    /// Whether the broker accepts what this key signed.
    package var verifies: Bool { self == .published || self == .active || self == .retired }
}

/// The use of a key. A key has only one.
package enum KeyUse: String, Sendable, Hashable, CaseIterable {
    /// Signs access tokens, id_tokens of this broker, and security events.
    case accessToken = "access-token"
    /// Makes and checks the tags of refresh tokens and DPoP nonces.
    case refreshToken = "refresh-token"
    /// Makes the digests under which device values are stored, the names of codes, the keys that seal their answers, and
    /// the tags of IdP keys.
    case device
}

/// The algorithm of a key. Raw values are the names of RFC 7518 §3.1.
///
/// The first algorithm with an active key signs the tokens of a client that names none, so the order is a rule.
package enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es384 = "ES384"
    /// Ed25519. RFC 8037 §3.1.
    case edDSA = "EdDSA"
    /// For refresh-token and device keys; never in a JWT of this broker.
    case hs256 = "HS256"

    /// Whether a key of this algorithm can serve `use`.
    package func serves(_ use: KeyUse) -> Bool { (self == .hs256) == (use != .accessToken) }

    /// The algorithms that can sign tokens.
    package static let signing = allCases.filter { $0.serves(.accessToken) }

    /// Of the hash claims in an id_token that is signed with this algorithm. OpenID Connect Core §3.1.3.6.
    package var hashFunction: TokenHashFunction {
        switch self {
        case .es256, .rs256, .ps256, .hs256: .sha256
        case .es384: .sha384
        case .edDSA: .sha512
        }
    }
}

/// A key as the registry stores it, without its private part.
package struct KeyRecord: Sendable, Hashable {
    /// The RFC 7638 thumbprint of a signing key, or the check value of a MAC key. Both derive from the key itself, so
    /// the broker notices a replaced file.
    package let kid: String
    package let use: KeyUse
    package let algorithm: KeyAlgorithm
    /// Where the provider finds the private part.
    package let reference: String
    /// The public JWK of a signing key, as JSON, for people and tools. The broker derives its JWKS from the private
    /// key, so that write access to the database cannot introduce a key.
    package let publicJWK: String?
    package let state: KeyState
    package let createdAt: UnixTime
    package let publishedAt: UnixTime?
    package let activatedAt: UnixTime?
    package let retiredAt: UnixTime?
    /// Since when an operator keeps it from signing; `nil`: it may sign.
    package let suspendedAt: UnixTime?
    /// The name of the brokers that have the private part of this signing key; `nil`: all of them.
    package let replica: String?

    package init(
        kid: String, use: KeyUse, algorithm: KeyAlgorithm, reference: String, publicJWK: String?, state: KeyState,
        createdAt: UnixTime, publishedAt: UnixTime? = nil, activatedAt: UnixTime? = nil, retiredAt: UnixTime? = nil,
        suspendedAt: UnixTime? = nil, replica: String? = nil
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
        self.suspendedAt = suspendedAt
        self.replica = replica
    }
}
