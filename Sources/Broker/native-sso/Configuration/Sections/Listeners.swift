import BrokerHTTP
import HTTPServer
import NativeSSO

extension Configuration {
    /// `public`: where apps reach `POST /token`. `backchannel` has the same keys.
    struct PublicListener: Sendable {
        let listen: PublicAddress
        /// `nil`: plain HTTP, for a proxy that terminates TLS.
        let tls: TLSFiles?
        let plainHTTP: Configuration.PlainHTTP
        let maximumConnections: Int
        /// The limit for one address; `nil`: no such limit. Over plain HTTP only proxies connect, each for many clients.
        let maximumConnectionsPerAddress: Int?
        let maximumBufferedMiB: Int
        let trustedProxies: TrustedProxies

        /// Whether the broker sees the addresses of clients. Behind a proxy on the same host it may see only the proxy's.
        let tellsCallersApart: Bool

        /// - Parameters:
        ///   - standard: The default of `listen`.
        ///   - isOn: Whether there is such a listener. Otherwise nothing is warned of.
        init?(reading section: Section, listen standard: String = "127.0.0.1:8080", isOn: Bool = true) {
            let listen = section.value(
                "listen", .text("an address and a port, `unix:` and a path, or `systemd`"),
                defaultText: standard,
                help: """
                    A numeric address and a port, or the path of a Unix socket: `unix:/run/native-sso/public`. `systemd`: the \
                    socket of `native-sso.socket`, for `public` only.
                    """,
                PublicAddress.init)
            let (hasTLS, tls) = section.section(
                "tls", help: "TLS at the broker. Without it, a proxy terminates TLS."
            ) { inner in
                let isGiven = section.isGiven("tls") || inner.isGiven("certificate") || inner.isGiven("key")
                return (isGiven, TLSFiles(reading: inner, isGiven: isGiven))
            }
            self.tls = tls
            plainHTTP = section.choice(
                "plain_http", default: .loopback,
                help: "Where plain HTTP is allowed. `behind-proxy`: also on an address that only a proxy can reach.")
            maximumConnections = section.integer(
                "max_connections", default: 10_240, in: 1...1_000_000,
                help: "Open connections. The broker closes further ones at once.")
            let perAddress = section.integer(
                "max_connections_per_address", default: 256, in: 1...1_000_000,
                help: "Open connections of one address or IPv6 /64. By default none without TLS."
            )
            maximumConnectionsPerAddress =
                hasTLS || section.isGiven("max_connections_per_address") ? perAddress : nil
            if maximumConnectionsPerAddress == nil {
                section.problems.forgetDefaults(of: "\(section.path).max_connections_per_address")
            }
            maximumBufferedMiB = section.integer(
                "max_buffered_mib", default: 64, in: 1...65_536,
                help:
                    "MiB for unfinished requests, with their header fields, and unsent answers, beyond 8 KiB for each connection."
            )
            trustedProxies = TrustedProxies(reading: section)
            guard let listen else { return nil }
            self.listen = listen
            tellsCallersApart =
                hasTLS || listen.internet?.isLoopback == false || !trustedProxies.blocks.isEmpty
                || trustedProxies.includesUnixSocket
            if hasTLS, section.isGiven("plain_http") {
                section.report("plain_http", "tls is given as well, and then nothing is plain; remove one of them")
            }
            // Only the socket unit knows the address of systemd's socket.
            let mayBeReached = listen == .systemd ? !section.isDevelopment : listen.internet?.isLoopback == false
            if mayBeReached {
                if section.isDevelopment {
                    section.report(
                        "listen", "with development: true every listener must be on loopback, such as 127.0.0.1:8080")
                } else if !hasTLS, plainHTTP == .loopback {
                    section.report("listen", Self.clear)
                }
            }
            if trustedProxies.includesUnixSocket, listen.internet != nil {
                section.report("trusted_proxies", "unix is for a listener on a Unix socket, and listen is an address")
            }
            // A laptop has no proxy.
            if isOn, !tellsCallersApart, !section.isDevelopment, !section.isGiven("trusted_proxies") {
                section.warn(
                    "trusted_proxies",
                    "is not given, so that no limit by address applies: behind a proxy on this host all requests come from it; "
                        + "name it, such as [127.0.0.1], or write [] if there is none")
            }
        }

        private static let clear =
            "plain HTTP is for loopback, such as 127.0.0.1:8080, and for a Unix socket, such as unix:/run/native-sso/public; "
            + "write tls.certificate and tls.key, or plain_http: behind-proxy where only a proxy that terminates TLS reaches "
            + "this address"
    }

    /// The addresses on which the public listener may use plain HTTP.
    enum PlainHTTP: String, CaseIterable, Sendable {
        case loopback
        case behindProxy = "behind-proxy"
    }

    /// `internal`: where operators and the identity provider reach health, metrics, keys, metadata and logout.
    struct InternalListener: Sendable {
        let listen: ListenAddress
        /// `nil`: plain HTTP, or the files were not opened.
        let tls: TLSFiles?
        let hasTLS: Bool

        init?(reading section: Section, publicListener: ListenAddress?) {
            let allowsOthers = section.flag(
                "allow_non_loopback", default: false,
                help: "Let `listen` be another address. The internal listener asks for no password.")
            let asksClients: Bool
            (hasTLS, asksClients, tls) = section.section("tls", help: "TLS at the internal listener.") { inner in
                let isGiven =
                    section.isGiven("tls") || ["certificate", "key", "client_ca"].contains(where: inner.isGiven)
                return (
                    isGiven, inner.isGiven("client_ca"), TLSFiles(reading: inner, isGiven: isGiven, asksClients: true)
                )
            }
            guard
                let listen = section.value(
                    "listen", .text("an address and a port"), defaultText: "127.0.0.1:8081",
                    help: "A numeric address and a port.", ListenAddress.init)
            else {
                return nil
            }
            self.listen = listen
            if !listen.isLoopback, section.isDevelopment {
                section.report(
                    "listen", "with development: true every listener must be on loopback, such as 127.0.0.1:8081")
            } else if !listen.isLoopback, !allowsOthers, !asksClients {
                section.report(
                    "listen",
                    "the internal listener knows no passwords: listen on loopback, such as 127.0.0.1:8081, set "
                        + "tls.client_ca, or set allow_non_loopback: true where the network keeps strangers away")
            }
            if let publicListener, listen.collides(with: publicListener) {
                section.report("listen", "public.listen already takes \(publicListener); write another port")
            }
        }
    }
}

extension Configuration {
    /// `backchannel`: where apps revoke, APIs introspect and identity providers log out, each path by its own switch.
    struct Backchannel: Sendable {
        let listener: PublicListener
        let revokes: Bool
        let introspects: Bool
        let takesLogouts: Bool
        let takesRevocations: Bool
        let takesEvents: Bool
        /// Others reach the paths under this URL. It has no trailing slash.
        let url: String

        /// `nil` without such a listener.
        /// - Parameter issuer: The broker's; `nil` if it is invalid.
        init?(reading section: Section, isGiven: Bool, issuer: Issuer?, besides others: [PublicAddress]) {
            let isOn =
                isGiven
                || [
                    "listen", "revoke", "introspect", "backchannel_logout", "global_token_revocation",
                    "security_events",
                ].contains(where: section.isGiven)
            let listener = PublicListener(reading: section, listen: "127.0.0.1:8082", isOn: isOn)
            revokes = section.flag(
                "revoke", default: false, help: "Serve `POST /revoke`: apps end their grants and sign out (RFC 7009).")
            introspects = section.flag(
                "introspect", default: false,
                help: "Serve `POST /introspect`: APIs ask whether an access token is alive (RFC 7662).")
            takesLogouts = section.flag(
                "backchannel_logout", default: false,
                help: "Serve `POST /backchannel-logout` here, and no longer on the internal listener.")
            takesRevocations = section.flag(
                "global_token_revocation", default: false,
                help: "Serve `POST /global-token-revocation`: identity providers end all sessions of a user.")
            takesEvents = section.flag(
                "security_events", default: false,
                help: "Serve `POST /security-events`: identity providers push security events (RFC 8935).")
            let standard = issuer?.withoutTrailingSlash ?? "https://sso.example.com"
            let url = section.value(
                "url", .url, defaultText: standard,
                help:
                    "The URL under which others reach these paths, for the metadata, without a trailing slash. By default `issuer`."
            ) { text in
                let url = try WebURL(text, allowsLoopbackHTTP: section.isDevelopment)
                guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
                guard text.utf8.last != UInt8(ascii: "/") else { throw ValueDefect("must not end with a slash") }
                return text
            }
            self.url = url ?? standard
            guard isOn else { return nil }
            if section.isSound, !revokes, !introspects, !takesLogouts, !takesRevocations, !takesEvents {
                section.report("revoke", "is false like every path here; set one to true, or remove the section")
            }
            guard let listener else { return nil }
            self.listener = listener
            if listener.listen == .systemd {
                section.report("listen", "only public.listen may be systemd; write an address, or unix: and a path")
            }
            if let taken = others.first(where: listener.listen.collides) {
                section.report("listen", "another listener already takes \(taken); write another port or path")
            }
        }
    }
}

extension PublicAddress {
    /// Whether the two cannot be bound at the same time.
    fileprivate func collides(with other: PublicAddress) -> Bool {
        switch (self, other) {
        case (.host(let own), .host(let other)): own.collides(with: other)
        case (.unixSocket(let own), .unixSocket(let other)): own.utf8.elementsEqual(other.utf8)
        case (.host, _), (.unixSocket, _), (.systemd, _): false
        }
    }
}

/// `trusted_proxies` and `forwarded_header` of the public listener and of the backchannel listener.
extension TrustedProxies {
    init(reading section: Section) {
        // `nil`: the Unix socket.
        let blocks = section.values(
            "trusted_proxies", .text("an address, a block of addresses, or `unix`"),
            help: "Proxies whose header names the client's address. `[]` says that there is no proxy."
        ) { text -> AddressBlock? in
            if text.utf8.elementsEqual("unix".utf8) { return nil }
            guard let block = AddressBlock(text) else {
                throw ValueDefect("write an address or a block of them, such as 10.0.0.0/8 or 2001:db8::7, or unix")
            }
            guard !block.isEverything else {
                throw ValueDefect("would let every caller choose its own address; write the proxies' addresses")
            }
            return block
        }.map(\.value)
        let header = section.choice(
            "forwarded_header", default: Header.xForwardedFor,
            help: "The header in which trusted proxies name the client's address.")
        if section.isGiven("forwarded_header"), !section.isGiven("trusted_proxies") {
            section.report("forwarded_header", "is believed from trusted_proxies alone, and none are given")
        }
        self.init(blocks: blocks.compactMap(\.self), includesUnixSocket: blocks.contains(nil), header: header)
    }
}

extension Configuration {
    /// `metrics`: an address of their own for metrics and health, for a monitor that shall reach nothing else.
    struct MetricsListener: Sendable {
        let listen: ListenAddress

        /// `nil` without such a listener.
        init?(reading section: Section, besides others: [ListenAddress]) {
            let allowsOthers = section.flag(
                "allow_non_loopback", default: false,
                help: "Let `listen` be another address. It asks for no password.")
            guard
                let listen = section.value(
                    "listen", .text("an address and a port"),
                    help:
                        "A numeric address and a port. `/metrics` is then here only, `/livez` and `/readyz` here too.",
                    ListenAddress.init)
            else { return nil }
            self.listen = listen
            if !listen.isLoopback, section.isDevelopment || !allowsOthers {
                section.report(
                    "listen",
                    "asks for no password: listen on loopback, such as 127.0.0.1:8083, or set allow_non_loopback: true "
                        + "where the network keeps strangers away (not with development: true)")
            }
            if let taken = others.first(where: listen.collides) {
                section.report("listen", "another listener already takes \(taken); write another port")
            }
        }
    }
}
