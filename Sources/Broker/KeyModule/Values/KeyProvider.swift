/// Where private parts live: files, or a token that is asked to sign. One conformance suite holds for every provider.
public protocol KeyProvider: Sendable {
    /// Makes a key that signs.
    /// - Parameter modulusBits: Of an RSA key.
    func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) throws(KeyError) -> GeneratedKey

    /// Makes a key for refresh-token tags, named by the first octet of the tokens it will make.
    func generateRefreshTokenKey(id: UInt8) throws(KeyError) -> GeneratedKey

    /// Makes the key for device digests.
    func generateDeviceKey() throws(KeyError) -> GeneratedKey

    /// The private part that `record` means. Throws unless it is that very key: `kid` and algorithm are compared.
    func signingKey(_ record: KeyRecord) throws(KeyError) -> any SigningKey
    func macKey(_ record: KeyRecord) throws(KeyError) -> MACKey

    /// Destroys the private part that `record` means; nothing happens where it is gone already.
    func destroy(_ record: KeyRecord) throws(KeyError)
}

/// What there is to say of a new key.
public struct GeneratedKey: Sendable, Hashable {
    public let kid: String
    public let reference: String
    public let algorithm: KeyAlgorithm
    /// Of a signing key, as JSON.
    public let publicJWK: String?

    public init(kid: String, reference: String, algorithm: KeyAlgorithm, publicJWK: String?) {
        self.kid = kid
        self.reference = reference
        self.algorithm = algorithm
        self.publicJWK = publicJWK
    }
}
