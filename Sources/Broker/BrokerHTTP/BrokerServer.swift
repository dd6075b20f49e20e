import HummingbirdCore
public import Logging
public import NIOCore
import NIOPosix
public import NativeSSO
public import ServiceLifecycle
import Synchronization

/// Both listeners, from bind to graceful stop.
///
/// A stop goes in this order: `/readyz` says no; the public listener accepts no more, answers what is in flight and closes;
/// the internal listener follows, so that the stop can be watched to its end.
public struct BrokerServer: Service {
    public enum Address: Sendable {
        /// Port 0: the system chooses one.
        case host(String, port: Int)
        /// A path. Whoever has the group of the process may connect.
        case unixSocket(String)

        public init(host: String = "127.0.0.1", port: Int) { self = .host(host, port: port) }
    }

    public struct Configuration: Sendable {
        public var publicAddress: Address
        public var internalAddress: Address
        public var publicLimits: ListenerLimits
        /// In front of the public listener.
        public var trustedProxies: TrustedProxies
        /// Of the public listener; `nil`: it speaks in the clear.
        public var publicIdentity: CurrentTLSIdentity?
        /// Fewer connections: whoever floods the internal listener takes nothing from the public one.
        public var internalLimits: ListenerLimits
        /// What is still in flight then is cut off.
        public var drainTimeout: Duration

        public init(
            publicAddress: Address = Address(port: 8080), internalAddress: Address = Address(port: 8081),
            publicLimits: ListenerLimits = ListenerLimits(), trustedProxies: TrustedProxies = .none,
            publicIdentity: CurrentTLSIdentity? = nil,
            internalLimits: ListenerLimits = ListenerLimits(connections: 256, bufferedOctets: 4 << 20),
            drainTimeout: Duration = .seconds(10)
        ) {
            self.publicAddress = publicAddress
            self.internalAddress = internalAddress
            self.publicLimits = publicLimits
            self.trustedProxies = trustedProxies
            self.publicIdentity = publicIdentity
            self.internalLimits = internalLimits
            self.drainTimeout = drainTimeout
        }
    }

    /// The ports that the listeners got; 0 for a Unix socket.
    public struct Ports: Sendable {
        public let `public`: Int
        public let `internal`: Int
    }

    private let configuration: Configuration
    private let tokenEndpoint: TokenEndpoint
    private let internalEndpoint: InternalEndpoint
    private let readiness: Readiness
    private let clock: any WallClock
    private let connections: ConnectionCounts
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onStarted: @Sendable (Ports) async -> Void

    /// - Parameters:
    ///   - connections: To the public listener, for the metrics.
    ///   - eventLoopGroup: One loop per core where `nil`.
    ///   - onStarted: Called once, when both listeners are bound.
    public init(
        configuration: Configuration, tokenEndpoint: TokenEndpoint, internalEndpoint: InternalEndpoint,
        readiness: Readiness, clock: any WallClock, connections: ConnectionCounts = ConnectionCounts(),
        eventLoopGroup: (any EventLoopGroup)? = nil, logger: Logger,
        onStarted: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.tokenEndpoint = tokenEndpoint
        self.internalEndpoint = internalEndpoint
        self.readiness = readiness
        self.clock = clock
        self.connections = connections
        self.eventLoopGroup = eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton
        self.logger = logger
        self.onStarted = onStarted
    }

    /// Runs until a graceful shutdown or cancellation.
    public func run() async throws {
        let date = DateHeader(clock: clock)
        let executors = EventLoopExecutors(eventLoopGroup)
        let start = StartGate(onStarted)
        let publicServer = server(
            tokenEndpoint, configuration.publicAddress, configuration.publicLimits, date, executors: executors,
            proxies: configuration.trustedProxies, identity: configuration.publicIdentity, counts: connections
        ) { await start.bound(public: $0) }
        let internalServer = server(
            internalEndpoint, configuration.internalAddress, configuration.internalLimits, date, executors: executors
        ) { await start.bound(internal: $0) }
        // Stopped in reverse order, each after the one before has ended.
        var group = ServiceGroupConfiguration(
            services: [internalServer, publicServer, DrainGate(readiness: readiness)], logger: logger)
        group.maximumGracefulShutdownDuration = configuration.drainTimeout
        try await ServiceGroup(configuration: group).run()
    }

    private func server(
        _ responder: some Responder, _ address: Address, _ limits: ListenerLimits, _ date: DateHeader,
        executors: EventLoopExecutors, proxies: TrustedProxies = .none, identity: CurrentTLSIdentity? = nil,
        counts: ConnectionCounts = ConnectionCounts(), onBound: @escaping @Sendable (Int) async -> Void
    ) -> any Service {
        let open = OpenConnections()
        let connections = HTTPConnections(
            responder: responder, executors: executors, open: open, limits: limits, proxies: proxies,
            identity: identity,
            date: date,
            quota: ConnectionQuota(limits: limits, proxies: proxies, counts: counts),
            budget: BufferBudget(limit: limits.bufferedOctets, counts: counts))
        let claim = AddressClaim(address)
        let server = connections.server(
            configuration: ServerConfiguration(address: address.bindAddress, backlog: 1024),
            onServerRunning: { channel in
                claim.didBind()
                await onBound(channel.localAddress?.port ?? 0)
            },
            eventLoopGroup: eventLoopGroup, logger: logger)
        return ListeningService(server: server, open: open, claim: claim)
    }
}

/// A listener could not be bound.
public struct ListenError: Error, CustomStringConvertible {
    public let description: String
}

/// Ends when the last connection has, or is cancelled: only the end of the patience with a stop cuts off what is being answered.
/// Says which listener it was that could not be bound: once bound, a server ends without an error.
private struct ListeningService: Service {
    let server: any Service
    let open: OpenConnections
    let claim: AddressClaim

    func run() async throws {
        do {
            try claim.take()
            defer { claim.release() }
            try await withTaskCancellationHandler {
                try await server.run()
                await open.end()
            } onCancel: {
                open.cancel()
            }
        } catch let error where !(error is CancellationError) {
            throw ListenError(description: "it cannot listen on \(claim.address): \(error)")
        }
    }
}

/// Turns readiness off as the first step of a stop.
private struct DrainGate: Service {
    let readiness: Readiness

    func run() async throws {
        try await gracefulShutdown()
        readiness.drain()
    }
}

/// Waits for both ports.
private final class StartGate: Sendable {
    private let ports = Mutex<(public: Int?, internal: Int?)>((nil, nil))
    private let onStarted: @Sendable (BrokerServer.Ports) async -> Void

    init(_ onStarted: @escaping @Sendable (BrokerServer.Ports) async -> Void) {
        self.onStarted = onStarted
    }

    func bound(public port: Int) async { await bound { $0.public = port } }
    func bound(internal port: Int) async { await bound { $0.internal = port } }

    private func bound(_ change: (inout (public: Int?, internal: Int?)) -> Void) async {
        let ports = ports.withLock { ports in
            change(&ports)
            return ports
        }
        guard let publicPort = ports.public, let internalPort = ports.internal else { return }
        await onStarted(BrokerServer.Ports(public: publicPort, internal: internalPort))
    }
}

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
