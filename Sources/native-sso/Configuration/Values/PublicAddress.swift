/// Where the public listener is bound: a numeric address and a port, or `unix:` and the path of a socket.
enum PublicAddress: Sendable, Hashable, CustomStringConvertible {
    case host(ListenAddress)
    case unixSocket(String)

    private static let scheme = "unix:"
    /// Of `sun_path`, with the NUL at its end.
    private static let maximumPath = 108

    init(_ text: String) throws(ValueDefect) {
        guard text.hasPrefix(Self.scheme) else {
            self = .host(try ListenAddress(text))
            return
        }
        let path = String(text.dropFirst(Self.scheme.count))
        guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0), path.utf8.count < Self.maximumPath
        else {
            throw ValueDefect(
                "write unix: and an absolute path of less than \(Self.maximumPath) octets, such as unix:/run/native-sso/public"
            )
        }
        self = .unixSocket(path)
    }

    /// `nil` for a Unix socket.
    var internet: ListenAddress? { if case .host(let address) = self { address } else { nil } }

    var description: String {
        switch self {
        case .host(let address): address.description
        case .unixSocket(let path): Self.scheme + path
        }
    }
}
