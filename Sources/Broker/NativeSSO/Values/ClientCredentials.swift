/// What a confidential client proves itself with, as the registry knows it. Nothing of it is secret.
public struct ClientCredentials: Sendable, Hashable {
    /// Two at most: a secret and its successor. Empty unless the client is one of `client_secret_basic`.
    public let secrets: [ClientSecretDigest]
    /// Empty unless the client is one of `private_key_jwt`.
    public let keys: [ClientKey]

    public init(secrets: [ClientSecretDigest] = [], keys: [ClientKey] = []) {
        self.secrets = secrets
        self.keys = keys
    }

    public static let none = ClientCredentials()
}

/// A public key of a `private_key_jwt` client.
public struct ClientKey: Sendable, Hashable {
    public let id: ClientKeyID
    /// RFC 7517, with `alg`: the one algorithm that the key is for.
    public let publicJWK: String

    public init(id: ClientKeyID, publicJWK: String) {
        self.id = id
        self.publicJWK = publicJWK
    }

    /// Octet by octet.
    public static func == (a: ClientKey, b: ClientKey) -> Bool {
        a.id == b.id && a.publicJWK.utf8.elementsEqual(b.publicJWK.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}
