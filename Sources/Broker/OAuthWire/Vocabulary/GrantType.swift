/// `grant_type`, octet by octet: case-sensitive, not trimmed.
public enum GrantType: String, Sendable, CaseIterable {
    /// RFC 8693 §2.1.
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// RFC 6749 §6.
    case refreshToken = "refresh_token"
    /// RFC 6749 §4.1.3.
    case authorizationCode = "authorization_code"
}
