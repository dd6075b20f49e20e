/// What the operator configured for the logouts of one identity provider.
public struct LogoutPolicy: Sendable, Hashable {
    /// As which clients the provider knows the broker, beside the apps that are registered here.
    public let audiences: [ClientID]
    /// Whether a logout token may come without `exp`, as older providers write them; its `iat` bounds its age then.
    public let allowsMissingExpiry: Bool
    /// Whether `typ` may be `JWT` or missing, as it may in an id_token: then only the claims tell the two apart.
    public let allowsJWTType: Bool

    public init(audiences: [ClientID] = [], allowsMissingExpiry: Bool = false, allowsJWTType: Bool = false) {
        self.audiences = audiences
        self.allowsMissingExpiry = allowsMissingExpiry
        self.allowsJWTType = allowsJWTType
    }
}
