import HummingbirdCore
package import Logging
package import NIOCore
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Answers the arrivals at a listener. It cannot fail: every outcome becomes an answer.
package protocol Responder: Sendable {
    func answer(_ arrival: Arrival) async -> HTTPAnswer
}

/// One listener for HTTP/1.1 and, over TLS, HTTP/2: from bind to graceful stop.
///
/// Ends when its last connection has ended, or when its task is cancelled. Only the cancellation at the end of the
/// stop's time limit cuts off an answer in progress.
package struct HTTPListener: Service {
    private let address: ListenerAddress
    private let connections: HTTPConnections
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onBound: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - date: Shared by all listeners, for the `Date` of answers.
    ///   - executors: One for each event loop of `eventLoopGroup`, shared by all listeners.
    ///   - proxies: Their word on the client's address is believed.
    ///   - identity: The listener's certificate chain and key; `nil`: plaintext.
    ///   - counts: Counts the listener's connections.
    ///   - onBound: Called once, with the port that the listener got; 0 for a Unix socket.
    package init(
        _ responder: some Responder, at address: ListenerAddress, limits: ListenerLimits, date: DateHeader,
        executors: EventLoopExecutors, proxies: TrustedProxies = .none, identity: CurrentTLSIdentity? = nil,
        counts: ConnectionCounts = ConnectionCounts(), eventLoopGroup: any EventLoopGroup, logger: Logger,
        onBound: @escaping @Sendable (Int) async -> Void
    ) {
        connections = HTTPConnections(
            responder: responder, executors: executors, open: OpenConnections(), limits: limits, proxies: proxies,
            identity: identity, date: date, quota: ConnectionQuota(limits: limits, proxies: proxies, counts: counts))
        self.address = address
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.onBound = onBound
    }

    /// - Throws: ``ListenError`` if the address could not be bound. A bound listener ends without an error.
    package func run() async throws {
        do {
            let claim = try address.claim()
            defer { claim?.release() }
            let server = connections.server(
                configuration: ServerConfiguration(address: address.bindAddress, backlog: 1024),
                onServerRunning: { [address, onBound] channel in
                    claim?.didBind()
                    address.openToGroup()
                    await onBound(channel.localAddress?.port ?? 0)
                },
                eventLoopGroup: eventLoopGroup, logger: logger)
            try await withTaskCancellationHandler {
                try await server.run()
                await connections.open.end()
            } onCancel: {
                connections.open.cancel()
            }
        } catch let error where !(error is CancellationError) {
            throw ListenError(description: "it cannot listen on \(address): \(error)")
        }
    }
}

/// A listener could not be bound.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String
}

/// Where a listener listens.
package enum ListenerAddress: Sendable, CustomStringConvertible {
    /// Port 0: the system chooses one.
    case host(String, port: Int)
    /// A path. Processes with the group of this one may connect.
    case unixSocket(String)

    package init(host: String = "127.0.0.1", port: Int) { self = .host(host, port: port) }

    package var description: String {
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

    /// A port needs no claim: the system refuses a second listener.
    func claim() throws(UnixSocketClaim.Refused) -> UnixSocketClaim? {
        guard case .unixSocket(let path) = self else { return nil }
        return try UnixSocketClaim(path: path)
    }

    /// The umask usually denies other users a new socket. A proxy connects through the group.
    func openToGroup() {
        if case .unixSocket(let path) = self { chmod(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) }
    }
}
