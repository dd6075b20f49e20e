import Glibc
import HTTPServer
import KeyModule
import NIOCore
import NativeSSO
import StrictCoding

/// What `doctor` checks on this machine, without the database.
enum HostDoctor {
    // MARK: Process

    /// - Parameter configuration: `nil`: how many files the listeners need is not known.
    static func process(_ configuration: Configuration?) -> [Finding] {
        var findings = [
            Finding(
                "process.memory", ProcessHardening.locksSecrets, .warning,
                seen: ProcessHardening.locksSecrets
                    ? "the memory of keys is locked"
                    : "the memory of keys could not be locked, and may be swapped to disk",
                expected: "locked memory for keys",
                remedy: "raise the limit to 8 MiB: LimitMEMLOCK=8M, or ulimit -l 8192")
        ]
        guard let configuration else { return findings }
        let connections = configuration.listeners.reduce(0) { $0 + $1.maximumConnections }
        let limit = OpenFileLimit.raise(for: connections)
        findings.append(
            Finding(
                "process.files", limit == nil, .warning,
                seen: limit.map { "\($0) files may be open" } ?? "enough files may be open",
                expected: "\(connections) connections and \(OpenFileLimit.others) other files",
                remedy: "raise LimitNOFILE=, or lower max_connections"))
        let isRoot = geteuid() == 0 && !configuration.isDevelopment
        findings.append(
            Finding(
                "process.user", !isRoot, .warning, seen: isRoot ? "this is root" : "user \(geteuid())",
                expected: "the user of the broker, whose rights to files doctor can then judge",
                remedy: "run it as the broker's user, such as: runuser -u native-sso -- native-sso doctor"))
        return findings
    }

    // MARK: Listeners

    static func listeners(_ configuration: Configuration) async -> [Finding] {
        let internalListener = configuration.internalListener
        let asked = configuration.metrics?.listen ?? (internalListener.hasTLS ? nil : internalListener.listen)
        var isRunning = false
        if let asked, asked.port != 0 {
            isRunning = (try? await HealthcheckCommand.ask("http://\(asked.reachable)/livez").status) == 200
        }
        var all: [(name: String, address: PublicAddress)] = [
            ("public", configuration.publicListener.listen), ("internal", .host(internalListener.listen)),
        ]
        if let backchannel = configuration.backchannel { all.append(("backchannel", backchannel.listener.listen)) }
        if let metrics = configuration.metrics { all.append(("metrics", .host(metrics.listen))) }
        return all.map { name, address in
            let problem = isRunning ? nil : obstacle(to: address)
            return Finding(
                "listener.\(name)", problem == nil,
                seen: "\(address): \(problem?.seen ?? (isRunning ? "a broker serves here" : "free"))",
                expected: "an address that the broker can bind, or has", remedy: problem?.remedy ?? "")
        }
    }

    /// Why a broker could not listen there.
    private static func obstacle(to address: PublicAddress) -> (seen: String, remedy: String)? {
        switch address {
        case .systemd: return nil
        case .unixSocket(let path):
            let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
            guard access(directory.isEmpty ? "/" : directory, W_OK | X_OK) != 0 else { return nil }
            return (
                "the directory \(directory): \(String(cString: strerror(errno)))",
                "make the directory, writable by the broker's user; systemd: RuntimeDirectory=native-sso"
            )
        case .host(let listen):
            guard listen.port != 0, let error = bindError(listen) else { return nil }
            let remedy =
                switch error {
                case EADDRINUSE: "another program has it: stop that, or choose another port"
                case EACCES:
                    "ports below 1024 need a right: use native-sso.socket, CAP_NET_BIND_SERVICE or a higher port"
                case EADDRNOTAVAIL: "this machine has no such address: see ip address, and correct listen"
                default: "correct listen"
                }
            return (String(cString: strerror(error)), remedy)
        }
    }

    /// `nil`: it can be bound.
    private static func bindError(_ listen: ListenAddress) -> Int32? {
        guard let address = try? SocketAddress(ipAddress: listen.host, port: listen.port) else { return EINVAL }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.protocol.rawValue, kind, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        // As the broker does: a closed connection of its predecessor is no obstacle.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        return address.withSockAddr { name, size in bind(descriptor, name, socklen_t(size)) == 0 ? nil : errno }
    }

    // MARK: State directory

    static func stateDirectory(_ database: Configuration.Database) -> Finding {
        let key = "database.state_directory"
        guard let path = database.stateDirectory else {
            return Finding(
                key, false, .warning,
                seen: "none: whether the database has gone back is only watched while a broker runs",
                expected: "a directory of the broker's own",
                remedy: "name one, so that a broker that starts on a restored database notices it")
        }
        do throws(MemoryFile.Failure) {
            let contents = try MemoryFile(in: path).read()
            return Finding(
                key, true, seen: contents == nil ? "\(path) has nothing yet" : "\(path) says what the broker remembers",
                expected: "", remedy: "")
        } catch {
            return Finding(
                key, false, seen: error.text, expected: "a directory of the broker's own, and a file that it wrote",
                remedy: "give the directory to the broker's user with mode 0700; if the database is the right one, "
                    + "remove the file")
        }
    }

    // MARK: Certificates

    /// Time to renew a certificate in peace.
    private static let notice = Seconds.days(21)

    static func certificates(_ configuration: Configuration) -> [Finding] {
        let now = SystemClock().now
        return zip(["public", "internal", "backchannel"], configuration.tlsFiles).compactMap { name, files in
            guard let files else { return nil }
            let end = UnixTime(seconds: files.identity.notAfter)
            let isValid = now <= end && files.identity.notBefore <= now.seconds
            return Finding(
                "certificate.\(name)", isValid && now.adding(notice) <= end, isValid ? .warning : .failed,
                seen: "\(files.certificate): "
                    + (files.identity.notBefore > now.seconds
                        ? "not valid before \(UnixTime(seconds: files.identity.notBefore).rfc3339)"
                        : "\(now > end ? "expired" : "expires") at \(end.rfc3339)"),
                expected: "valid now, and for \(DurationText.format(notice)) more",
                remedy: "renew it, and send the broker SIGHUP (systemctl reload native-sso)")
        }
    }

    // MARK: Proxies

    static func proxies(_ configuration: Configuration) -> Finding {
        let listener = configuration.publicListener
        let wide = listener.trustedProxies.blocks.filter(\.isWide)
        let isBehindUnnamed = listener.plainHTTP == .behindProxy && listener.trustedProxies.blocks.isEmpty
        let seen =
            isBehindUnnamed
            ? "plain_http: behind-proxy, and no trusted_proxies: all users share the limits of the proxy's address"
            : wide.isEmpty
                ? listener.trustedProxies.blocks.isEmpty
                    ? "no proxy is trusted"
                    : listener.trustedProxies.blocks.count.counted(
                        "trusted address or block",
                        plural: "trusted addresses or blocks")
                : "trusted_proxies holds \(wide.count == 1 ? "a block" : "blocks") of 65,536 addresses or more"
        return Finding(
            "proxies", wide.isEmpty && !isBehindUnnamed, .warning, seen: seen,
            expected: "the addresses of the proxies alone: a trusted peer may name any client",
            remedy: "write the proxies' own addresses in public.trusted_proxies")
    }
}
