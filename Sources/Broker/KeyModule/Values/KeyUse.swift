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
