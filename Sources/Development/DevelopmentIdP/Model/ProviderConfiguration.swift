import StrictCoding

/// What one development identity provider is.
public struct ProviderConfiguration: Sendable {
    /// `iss` of everything it signs, and the base of its endpoint addresses. No trailing slash.
    public var issuer: String
    /// 127.0.0.1 or ::1; nothing else is accepted.
    public var host: String
    public var port: Int
    public var mode: ProviderMode
    public var deviceSecretHash: DeviceSecretHash
    public var lifetimes: Lifetimes
    public var clients: [RegisteredClient]

    public init(
        issuer: String? = nil, host: String = "127.0.0.1", port: Int, mode: ProviderMode = .stamping,
        deviceSecretHash: DeviceSecretHash = .leftHalf,
        lifetimes: Lifetimes = Lifetimes(), clients: [RegisteredClient]
    ) throws(ProviderError) {
        guard ["127.0.0.1", "::1"].contains(host) else { throw .notLoopback(host) }
        self.issuer = issuer ?? "http://\(host == "::1" ? "[::1]" : host):\(port)"
        self.host = host
        self.port = port
        self.mode = mode
        self.deviceSecretHash = deviceSecretHash
        self.lifetimes = lifetimes
        self.clients = clients
    }

    func client(_ id: String) -> RegisteredClient? {
        clients.first { $0.id.hasSameOctets(as: id) }
    }
}
