public import NativeSSO
public import OAuthWire

/// What a confidential client offers as proof of who it is. It prints as `****`.
public enum ClientCredential: Sendable {
    /// RFC 6749 §2.3.1.
    case secret(Credential)
    /// RFC 7523 §2.2.
    case assertion(Credential)
}

/// Verifies the credentials of one authentication method. Public clients need none of these.
public protocol ClientAuthenticator: Sendable {
    /// Whose credential this claims to be, where it says so itself (the `sub` of an assertion). Not verified.
    func claimedClient(_ credential: ClientCredential) -> ClientID?

    /// Whether the credential is the client's.
    /// - Parameter client: `nil` for an unknown one: the answer is `false`, after as much work as for a known one.
    func verify(_ credential: ClientCredential, of client: Client?) async throws(PortError) -> Bool
}
