/// Why a logout token is refused: Back-Channel Logout 1.0 §2.6.
public enum LogoutRefusal: Error, Sendable, CaseIterable {
    case missing
    case malformed
    case headerRefused
    case wrongType
    case algorithmNotAllowed
    case unknownKey
    /// It left the key set: good for an old id_token, not for something that is said now.
    case keyRetired
    case keyRevoked
    case badSignature
    /// Missing, or no identity provider that is configured.
    case issuer
    case audience
    case issuedAt
    case expiry
    case notBefore
    case tokenID
    case events
    /// An id_token has one, a logout token must not.
    case nonce
    case subject
    case sessionID
    /// Neither `sub` nor `sid`.
    case nobody
    /// It was used before: what it asks for is done.
    case replayed

    /// Whether a key was looked for and nobody's signature found: the dearest of what anybody can send.
    public var isOfNobody: Bool { self == .unknownKey || self == .badSignature }
}

public typealias LogoutError = GrantError<LogoutRefusal>
