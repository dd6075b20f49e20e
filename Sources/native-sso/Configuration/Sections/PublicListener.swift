import BrokerHTTP

extension Configuration {
    /// `public`: where apps reach `POST /token`.
    struct PublicListener: Sendable {
        let listen: PublicAddress
        /// `nil`: plain HTTP, for a proxy that terminates TLS.
        let tls: TLSFiles?
        /// Who may reach it, if it is.
        let plainHTTP: Configuration.PlainHTTP
        /// Connections at one time.
        let maximumConnections: Int
        /// The same from one address; `nil`: as many. Over plain HTTP only proxies connect, and each is many clients.
        let maximumConnectionsPerAddress: Int?
        /// What all of them together may keep of bodies and answers, beyond 8 KiB each.
        let maximumBufferedMiB: Int
        /// Who says where a request comes from, if it does not say so itself.
        let trustedProxies: TrustedProxies

        /// Whether requests come from addresses of their own: behind a proxy on the same host, all of them come from it.
        var tellsCallersApart: Bool {
            tls != nil || listen.internet?.isLoopback == false || !trustedProxies.blocks.isEmpty
                || trustedProxies.includesUnixSocket
        }
    }

    /// Who may reach the public listener in the clear.
    enum PlainHTTP: String, CaseIterable, Sendable {
        /// Whoever is on this host.
        case loopback
        /// A network that nobody but a proxy reaches.
        case behindProxy = "behind-proxy"
    }
}

extension Configuration.PublicListener {
    init?(reading section: Section, isDevelopment: Bool) {
        let listen = section.value("listen", defaultText: "127.0.0.1:8080", PublicAddress.init)
        let tls = section.section("tls") { TLSFiles.Reading(reading: $0, isGiven: section.isGiven("tls")) }
        let plain = section.choice("plain_http", default: Configuration.PlainHTTP.loopback)
        let connections = section.integer("max_connections", default: 10_240, in: 1...1_000_000)
        let perAddress = section.integer("max_connections_per_address", default: 256, in: 1...1_000_000)
        let buffered = section.integer("max_buffered_mib", default: 64, in: 1...65_536)
        let proxies = TrustedProxies(reading: section)
        guard let listen, let plain, let connections, let perAddress, let buffered, let proxies else { return nil }
        if !tls.isNone, section.isGiven("plain_http") {
            section.report("plain_http", "tls is given as well, and then nothing is plain; remove one of them")
        }
        if let host = listen.internet, !host.isLoopback {
            if isDevelopment {
                section.report(
                    "listen", "with development: true every listener must be on loopback, such as 127.0.0.1:8080")
            } else if tls.isNone, plain == .loopback {
                section.report("listen", Self.clear)
            }
        }
        if proxies.includesUnixSocket, listen.internet != nil {
            section.report("trusted_proxies", "unix is for a listener on a Unix socket, and listen is none")
        }
        guard !tls.isWrong else { return nil }
        self.init(
            listen: listen, tls: tls.files, plainHTTP: plain, maximumConnections: connections,
            maximumConnectionsPerAddress: tls.isNone && !section.isGiven("max_connections_per_address")
                ? nil : perAddress,
            maximumBufferedMiB: buffered,
            trustedProxies: proxies)
        // On a laptop there is no proxy, and nobody to tell apart.
        if !tellsCallersApart, !isDevelopment, !section.isGiven("trusted_proxies") {
            section.warn(
                "trusted_proxies",
                "is not given, so that nobody is counted by address: behind a proxy on this host everybody comes from it; "
                    + "name it, such as [127.0.0.1], or write [] if there is none")
        }
    }

    private static let clear =
        "plain HTTP is for loopback, such as 127.0.0.1:8080, and for a Unix socket, such as unix:/run/native-sso/public; "
        + "write tls.certificate and tls.key, or plain_http: behind-proxy where only a proxy that terminates TLS reaches "
        + "this address"
}
