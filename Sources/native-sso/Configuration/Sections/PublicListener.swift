import BrokerHTTP

extension Configuration {
    /// `public`: where apps reach `POST /token`.
    struct PublicListener: Sendable {
        let listen: ListenAddress
        /// Connections at one time.
        let maximumConnections: Int
        /// Who says where a request comes from, if it does not say so itself.
        let trustedProxies: TrustedProxies
    }
}

extension Configuration.PublicListener {
    init?(reading section: Section, isDevelopment: Bool) {
        section.refuse(
            "tls",
            "the broker does not terminate TLS: remove this section, listen on loopback, and let a proxy on the same host "
                + "terminate TLS in front of it")
        let listen = section.value("listen", defaultText: "127.0.0.1:8080", ListenAddress.init)
        let connections = section.integer("max_connections", default: 10_240, in: 1...1_000_000)
        let proxies = TrustedProxies(reading: section)
        guard let listen, let connections, let proxies else { return nil }
        if !listen.isLoopback {
            section.report(
                "listen",
                isDevelopment
                    ? "with development: true every listener must be on loopback, such as 127.0.0.1:8080"
                    : "without TLS the public listener must be on loopback, such as 127.0.0.1:8080; terminate TLS in front "
                        + "of it on the same host")
        }
        self.init(listen: listen, maximumConnections: connections, trustedProxies: proxies)
    }
}
