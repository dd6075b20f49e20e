/// `error` of a token-endpoint answer.
public enum OAuthErrorCode: String, Sendable, CaseIterable {
    // RFC 6749 §5.2
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"
    /// RFC 8693 §2.2.2.
    case invalidTarget = "invalid_target"
    /// OpenID Connect Core §3.1.2.6, Native SSO §4.4.
    case interactionRequired = "interaction_required"
    // RFC 9449 §5 and §8
    case invalidDPoPProof = "invalid_dpop_proof"
    case useDPoPNonce = "use_dpop_nonce"
    // RFC 6749 §4.1.2.1; its §5.2 has no word for a server in trouble
    case temporarilyUnavailable = "temporarily_unavailable"
    case serverError = "server_error"
}
