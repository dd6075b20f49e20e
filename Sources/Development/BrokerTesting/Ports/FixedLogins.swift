package import NativeSSO

/// One place where all users log in, or none.
package struct FixedLogins: LoginDirectory {
    private let endpoint: String?

    package init(_ endpoint: String?) { self.endpoint = endpoint }

    package func authorizationEndpoint(of issuer: Issuer) -> String? { endpoint }
}
