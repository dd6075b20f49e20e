/// The identity provider as an app knows it: from its discovery document, or built in.
public struct IdentityProvider: Sendable {
    /// Exactly as in the id_token's `iss`; also the `audience` of an exchange.
    public let issuer: String
    public let authorizationEndpoint: String
    /// Where the app's codes are redeemed: the provider's own endpoint, or the broker's where it relays codes.
    public let tokenEndpoint: String

    public init(issuer: String, authorizationEndpoint: String, tokenEndpoint: String) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
    }
}
