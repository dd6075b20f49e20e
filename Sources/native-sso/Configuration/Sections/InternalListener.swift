extension Configuration {
    /// `internal`: where operators and the identity provider reach health, metrics, keys, metadata and logout.
    struct InternalListener: Sendable, Hashable {
        let listen: ListenAddress
    }
}

extension Configuration.InternalListener {
    init?(reading section: Section, isDevelopment: Bool, publicListener: ListenAddress?) {
        let allowsOthers = section.flag("allow_non_loopback", default: false)
        guard let listen = section.value("listen", defaultText: "127.0.0.1:8081", ListenAddress.init) else {
            return nil
        }
        if !listen.isLoopback {
            if isDevelopment {
                section.report(
                    "listen", "with development: true every listener must be on loopback, such as 127.0.0.1:8081")
            } else if allowsOthers == false {
                section.report(
                    "listen",
                    "the internal listener knows no passwords: listen on loopback, such as 127.0.0.1:8081, or set "
                        + "allow_non_loopback: true where the network keeps strangers away")
            }
        }
        if let publicListener, listen.collides(with: publicListener) {
            section.report("listen", "public.listen already takes \(publicListener); write another port")
        }
        self.init(listen: listen)
    }
}
