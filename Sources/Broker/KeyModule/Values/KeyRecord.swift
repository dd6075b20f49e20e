public import NativeSSO

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
