public import NativeSSO

/// One place where all users log in, or none.
public struct FixedLogins: LoginDirectory {
    private let endpoint: String?

    public init(_ endpoint: String?) { self.endpoint = endpoint }

    public func authorizationEndpoint(of issuer: Issuer) -> String? { endpoint }
}
