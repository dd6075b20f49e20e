/// `token_type` of an answer. Clients compare it without regard to case. RFC 6749 §7.1.
public enum TokenType: String, Sendable, CaseIterable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 9449 §5.
    case dpop = "DPoP"
    /// The issued token is no access token. RFC 8693 §2.2.1.
    case notApplicable = "N_A"
}
