/// An authorization request that passed every check but the user's login and consent.
struct AuthorizationRequest: Sendable {
    let clientID: String
    /// As requested: the token request must repeat it to the octet (RFC 6749 §4.1.3).
    let redirectURI: String
    /// What of the requested scope this provider knows, in the order of the request.
    let scope: [String]
    let state: String?
    let nonce: String?
    let challenge: CodeChallenge
    /// The first of `acr_values` that this provider knows.
    let contextClass: Authentication.ContextClass?
    /// `prompt=consent`: the user is asked even if the answer is known.
    let promptsConsent: Bool
    /// `issue_expired`, which no other provider has: what comes of this request is over as soon as it is issued, so that an app
    /// can be tried with it at once. Refreshed tokens last as always.
    let issuesExpired: Set<Expirable>

    enum Expirable: String {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }
}
