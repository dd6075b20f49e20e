import Crypto

/// What a request showed with a DPoP proof that holds: possession of a key. RFC 9449.
public struct PresentedProof: Sendable, Hashable {
    /// `jkt`: what the tokens of the answer are bound to.
    public let key: KeyThumbprint
    public let id: ProofID
    /// Longest time for which the same proof could be presented once more and be taken for a good one.
    public let life: Seconds

    public init(key: KeyThumbprint, id: ProofID, life: Seconds) {
        self.key = key
        self.id = id
        self.life = life
    }
}

/// Names a proof by its key and `jti`: each is good for one request. RFC 9449 §11.1.
///
/// A broker has one token endpoint, so that its address need not be part of the name.
public struct ProofID: Hashable, Sendable {
    /// SHA-256: 32 octets, whatever the app wrote.
    public let digest: [UInt8]

    public init(key: KeyThumbprint, jti: String) {
        // A thumbprint always has the same length, so no other key's jti begins where this one ends.
        digest = Array(SHA256.hash(data: Array(key.string.utf8) + Array(jti.utf8)))
    }
}
