/// Where users log in: implemented from the identity providers' discovery documents and the configuration.
public protocol LoginDirectory: Sendable {
    /// The authorization endpoint of `issuer`, RFC 6749 §3.1; `nil` where it is not known.
    func authorizationEndpoint(of issuer: Issuer) -> String?
}
