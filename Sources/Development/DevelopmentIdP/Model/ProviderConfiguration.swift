import StrictCoding

/// What one development identity provider is.
package struct ProviderConfiguration: Sendable {
    /// `iss` of everything it signs, and the base of its endpoint addresses. No trailing slash.
    package var issuer: String
    /// 127.0.0.1 or ::1; nothing else is accepted.
    package var host: String
    package var port: Int
    package var mode: ProviderMode
    package var deviceSecretHash: DeviceSecretHash
    package var lifetimes: Lifetimes
    package var clients: [RegisteredClient]
    /// The APIs that its access tokens are for.
    package var resources: [ProtectedResource]

    package init(
        issuer: String? = nil, host: String = "127.0.0.1", port: Int, mode: ProviderMode = .stamping,
        deviceSecretHash: DeviceSecretHash = .leftHalf,
        lifetimes: Lifetimes = Lifetimes(), clients: [RegisteredClient], resources: [ProtectedResource] = []
    ) throws(ProviderError) {
        guard ["127.0.0.1", "::1"].contains(host) else { throw .notLoopback(host) }
        self.issuer = issuer ?? "http://\(host == "::1" ? "[::1]" : host):\(port)"
        self.host = host
        self.port = port
        self.mode = mode
        self.deviceSecretHash = deviceSecretHash
        self.lifetimes = lifetimes
        self.clients = clients
        self.resources = resources
    }

    func client(_ id: String) -> RegisteredClient? {
        clients.first { $0.id.hasSameOctets(as: id) }
    }
}

/// An API that takes access tokens.
package struct ProtectedResource: Sendable {
    /// Its name in `aud`.
    package let audience: String
    /// A grant of this scope gives access tokens for the API.
    package let scope: String

    package init(audience: String, scope: String) {
        self.audience = audience
        self.scope = scope
    }
}
