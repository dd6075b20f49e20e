import HummingbirdCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension BrokerServer.Address: CustomStringConvertible {
    public var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): "unix:\(path)"
        }
    }

    var bindAddress: BindAddress {
        switch self {
        case .host(let host, let port): .hostname(host, port: port)
        case .unixSocket(let path): .unixDomainSocket(path: path)
        }
    }

    /// A socket is made with the permissions that the umask leaves, by which usually nobody else could connect. A proxy gets
    /// in by the group.
    func openToGroup() {
        if case .unixSocket(let path) = self { chmod(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) }
    }
}
