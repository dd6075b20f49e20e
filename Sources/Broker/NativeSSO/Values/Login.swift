/// How and when the user proved who they are at the identity provider. Copied into every token that descends from the
/// login, never refreshed by an exchange. RFC 9068 §2.2.1.
public struct Login: Hashable, Sendable {
    public var authenticatedAt: UnixTime?
    /// `acr`: the authentication context class that the login satisfied.
    public var contextClass: String?
    /// `amr`: the methods used.
    public var methods: [String]

    public init(authenticatedAt: UnixTime? = nil, contextClass: String? = nil, methods: [String] = []) {
        self.authenticatedAt = authenticatedAt
        self.contextClass = contextClass
        self.methods = methods
    }
}
