import Glibc
package import NIOCore
import NIOPosix
import ServiceLifecycle

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
    private let onBound: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - date: Shared by all listeners, for the `Date` of answers.
    ///   - executors: One for each event loop of `eventLoopGroup`, shared by all listeners.
    ///   - proxies: Their word on the client's address is believed.
    ///   - identity: The listener's certificate chain and key; `nil`: plaintext.
    ///   - counts: Counts the listener's connections.
    ///   - admitsHandshake: Whether this address may begin one more TLS handshake. Trusted proxies may always.
    ///   - onBound: Called once, with the port that the listener got; 0 for a Unix socket.
    package init(
        _ responder: some Responder, at address: ListenerAddress, limits: ListenerLimits, date: DateHeader,
        executors: EventLoopExecutors, proxies: TrustedProxies = .none, identity: CurrentTLSIdentity? = nil,
        counts: ConnectionCounts = ConnectionCounts(),
        admitsHandshake: @escaping @Sendable (ClientAddress) -> Bool = { _ in true },
        eventLoopGroup: any EventLoopGroup, onBound: @escaping @Sendable (Int) async -> Void
    ) {
        connections = HTTPConnections(
            responder: responder, executors: executors, open: OpenConnections(), limits: limits, proxies: proxies,
            identity: identity, admitsHandshake: admitsHandshake, date: date,
            quota: ConnectionQuota(limits: limits, proxies: proxies, counts: counts))
        self.address = address
        self.eventLoopGroup = eventLoopGroup
        self.onBound = onBound
    }

    /// - Throws: ``ListenError`` if the address could not be bound. A bound listener ends without an error.
    package func run() async throws {
        do {
            let claim = try address.claim()
            defer { claim?.release() }
            let channel = try await bind()
            claim?.didBind()
            address.openToGroup()
            await onBound(channel.localAddress?.port ?? 0)
            await withTaskCancellationHandler {
                await withGracefulShutdownHandler {
                    try? await channel.closeFuture.get()
                } onGracefulShutdown: {
                    channel.close(promise: nil)
                }
                connections.open.quiesce()
                await connections.open.end()
            } onCancel: {
                channel.close(promise: nil)
                connections.open.cancel()
            }
        } catch let error where !(error is CancellationError) {
            throw ListenError(
                description:
                    "it cannot listen on \(address): \(error)\(Self.remedy(for: error).map { "; \($0)" } ?? "")")
        }
    }
}

extension HTTPListener {
    /// What the operator can do about an error of bind.
    private static func remedy(for error: any Error) -> String? {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: "another program has this port: end it, or configure another port"
        case EACCES: "this user may not open the port: configure one from 1024 on, or let systemd open it"
        case EADDRNOTAVAIL: "this machine has no such address: configure one that it has"
        default: nil
        }
    }

    private func bind() async throws -> any Channel {
        let bootstrap = ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { [connections] channel in connections.setup(channel: channel) }
        switch address {
        case .host(let host, let port): return try await bootstrap.bind(host: host, port: port).get()
        case .unixSocket(let path): return try await bootstrap.bind(unixDomainSocketPath: path).get()
        case .inherited(let socket): return try await bootstrap.withBoundSocket(socket).get()
        }
    }
}

/// A listener could not be bound.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String
}

package enum ListenerAddress: Sendable, CustomStringConvertible {
    /// Port 0: the system chooses one.
    case host(String, port: Int)
    /// A path. Processes with the group of this one may connect.
    case unixSocket(String)
    /// A socket that another program bound and opened for this process. The listener closes it.
    case inherited(CInt)

    package init(host: String = "127.0.0.1", port: Int) { self = .host(host, port: port) }

    package var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): "unix:\(path)"
        case .inherited(let socket): "the inherited socket \(socket)"
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
