/// What a provider offers beside its keys, by its discovery document: OpenID Connect Discovery 1.0 §3, RFC 8414 §2. Each is `nil`
/// where the document does not say, or names no URL.
public struct ProviderEndpoints: Sendable, Hashable {
    /// Where users log in. Apps are told of it; the broker itself asks nothing of it, so that it may lie on any host.
    public var authorization: ProviderURL?
    /// Where codes are redeemed.
    public var token: ProviderURL?
    /// Where tokens are revoked.
    public var revocation: ProviderURL?

    public init(authorization: ProviderURL? = nil, token: ProviderURL? = nil, revocation: ProviderURL? = nil) {
        self.authorization = authorization
        self.token = token
        self.revocation = revocation
    }

    /// Without those on other hosts to which codes, tokens and secrets would be sent.
    func trusting(_ host: String) -> ProviderEndpoints {
        func own(_ url: ProviderURL?) -> ProviderURL? { url.flatMap { $0.host == host ? $0 : nil } }
        return ProviderEndpoints(authorization: authorization, token: own(token), revocation: own(revocation))
    }
}
