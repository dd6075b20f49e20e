package import HTTPServer
package import Logging
package import NIOCore
import NIOPosix
package import NativeSSO
import ServiceLifecycle
import Synchronization

/// The listeners, from bind to graceful stop.
///
/// The order of a stop: `/readyz` reports not ready; the public listener accepts no more, answers its open requests and
/// closes; the backchannel and the internal listener follow, so that operators can watch the whole stop.
package struct BrokerServer: Service {
    package struct Configuration: Sendable {
        package var publicAddress: ListenerAddress
        package var internalAddress: ListenerAddress
        package var publicLimits: ListenerLimits
        /// The proxies in front of the public listener.
        package var trustedProxies: TrustedProxies
        /// Of the public listener; `nil`: plaintext.
        package var publicIdentity: CurrentTLSIdentity?
        /// Of the internal listener; `nil`: plaintext.
        package var internalIdentity: CurrentTLSIdentity?
        /// Where metrics are instead of at the internal listener; `nil`: there.
        package var metricsAddress: ListenerAddress?
        /// Separate limits: a flood on the internal listener takes nothing from the public one.
        package var internalLimits: ListenerLimits
        /// The time for a graceful stop; requests that are still open then are cut off.
        package var drainTimeout: Duration

        package init(
            publicAddress: ListenerAddress = ListenerAddress(port: 8080),
            internalAddress: ListenerAddress = ListenerAddress(port: 8081),
            publicLimits: ListenerLimits, trustedProxies: TrustedProxies = .none,
            publicIdentity: CurrentTLSIdentity? = nil, internalIdentity: CurrentTLSIdentity? = nil,
            metricsAddress: ListenerAddress? = nil,
            internalLimits: ListenerLimits = ListenerLimits(connections: 256, bufferedOctets: 4 << 20),
            drainTimeout: Duration = .seconds(10)
        ) {
            self.publicAddress = publicAddress
            self.internalAddress = internalAddress
            self.publicLimits = publicLimits
            self.trustedProxies = trustedProxies
            self.publicIdentity = publicIdentity
            self.internalIdentity = internalIdentity
            self.metricsAddress = metricsAddress
            self.internalLimits = internalLimits
            self.drainTimeout = drainTimeout
        }
    }

    /// The backchannel listener.
    package struct Backchannel: Sendable {
        package let endpoint: BackchannelEndpoint
        package let address: ListenerAddress
        package let limits: ListenerLimits
        /// The proxies in front of it.
        package let trustedProxies: TrustedProxies
        /// `nil`: plaintext.
        package let identity: CurrentTLSIdentity?

        package init(
            endpoint: BackchannelEndpoint, address: ListenerAddress, limits: ListenerLimits,
            trustedProxies: TrustedProxies = .none, identity: CurrentTLSIdentity? = nil
        ) {
            self.endpoint = endpoint
            self.address = address
            self.limits = limits
            self.trustedProxies = trustedProxies
            self.identity = identity
        }
    }

    /// The ports that the listeners got; 0 for a Unix socket.
    package struct Ports: Sendable {
        package let `public`: Int
        package let `internal`: Int
        /// `nil`: there is no such listener.
        package let backchannel: Int?
        /// `nil`: there is no such listener.
        package let metrics: Int?
    }

    private let configuration: Configuration
    private let tokenEndpoint: TokenEndpoint
    private let internalEndpoint: InternalEndpoint
    private let backchannel: Backchannel?
    private let readiness: Readiness
    private let clock: any WallClock
    private let connections: ConnectionCounts
    private let admitsHandshake: @Sendable (ClientAddress) -> Bool
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onStarted: @Sendable (Ports) async -> Void

    /// - Parameters:
    ///   - backchannel: `nil`: no such listener.
    ///   - connections: The counts of the public listener, for the metrics.
    ///   - admitsHandshake: As ``HTTPListener``'s, for the public and the backchannel listener together.
    ///   - eventLoopGroup: One loop per core where `nil`.
    ///   - onStarted: Called once, when all listeners are bound.
    package init(
        configuration: Configuration, tokenEndpoint: TokenEndpoint, internalEndpoint: InternalEndpoint,
        backchannel: Backchannel? = nil, readiness: Readiness, clock: any WallClock,
        connections: ConnectionCounts = ConnectionCounts(),
        admitsHandshake: @escaping @Sendable (ClientAddress) -> Bool = { _ in true },
        eventLoopGroup: (any EventLoopGroup)? = nil, logger: Logger,
        onStarted: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.tokenEndpoint = tokenEndpoint
        self.internalEndpoint = internalEndpoint
        self.backchannel = backchannel
        self.readiness = readiness
        self.clock = clock
        self.connections = connections
        self.admitsHandshake = admitsHandshake
        self.eventLoopGroup = eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton
        self.logger = logger
        self.onStarted = onStarted
    }

    /// Returns once every event loop has run a task. A loop that hangs keeps the caller waiting.
    package func passEventLoops() async {
        for loop in eventLoopGroup.makeIterator() { try? await loop.submit {}.get() }
    }

    /// Runs until a graceful shutdown or cancellation.
    package func run() async throws {
        let date = DateHeader { [clock] in clock.milliseconds / 1000 }
        let executors = EventLoopExecutors(eventLoopGroup)
        let start = StartGate(
            expectsBackchannel: backchannel != nil, expectsMetrics: configuration.metricsAddress != nil, onStarted)
        let publicListener = HTTPListener(
            tokenEndpoint, at: configuration.publicAddress, limits: configuration.publicLimits, date: date,
            executors: executors, proxies: configuration.trustedProxies, identity: configuration.publicIdentity,
            counts: connections, admitsHandshake: admitsHandshake, eventLoopGroup: eventLoopGroup, logger: logger
        ) { await start.bound(public: $0) }
        let internalListener = HTTPListener(
            configuration.metricsAddress == nil ? internalEndpoint : internalEndpoint.withoutMetrics,
            at: configuration.internalAddress, limits: configuration.internalLimits, date: date,
            executors: executors, identity: configuration.internalIdentity, eventLoopGroup: eventLoopGroup,
            logger: logger
        ) { await start.bound(internal: $0) }
        let metricsListener = configuration.metricsAddress.map { address in
            HTTPListener(
                internalEndpoint.monitoring, at: address, limits: configuration.internalLimits, date: date,
                executors: executors, eventLoopGroup: eventLoopGroup, logger: logger
            ) { await start.bound(metrics: $0) }
        }
        let backchannelListener = backchannel.map { backchannel in
            HTTPListener(
                backchannel.endpoint, at: backchannel.address, limits: backchannel.limits, date: date,
                executors: executors, proxies: backchannel.trustedProxies, identity: backchannel.identity,
                admitsHandshake: admitsHandshake, eventLoopGroup: eventLoopGroup, logger: logger
            ) { await start.bound(backchannel: $0) }
        }
        // Stopped in reverse order, each after the previous one has ended.
        let services: [(any Service)?] = [
            metricsListener, internalListener, backchannelListener, publicListener, DrainGate(readiness: readiness),
        ]
        var group = ServiceGroupConfiguration(services: services.compactMap(\.self), logger: logger)
        group.maximumGracefulShutdownDuration = configuration.drainTimeout
        try await ServiceGroup(configuration: group).run()
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

/// Reports the ports once all are bound.
private final class StartGate: Sendable {
    private typealias Bound = (public: Int?, internal: Int?, backchannel: Int?, metrics: Int?)

    private let ports = Mutex<Bound>((nil, nil, nil, nil))
    private let expectsBackchannel: Bool
    private let expectsMetrics: Bool
    private let onStarted: @Sendable (BrokerServer.Ports) async -> Void

    init(
        expectsBackchannel: Bool, expectsMetrics: Bool,
        _ onStarted: @escaping @Sendable (BrokerServer.Ports) async -> Void
    ) {
        self.expectsBackchannel = expectsBackchannel
        self.expectsMetrics = expectsMetrics
        self.onStarted = onStarted
    }

    func bound(public port: Int) async { await bound { $0.public = port } }
    func bound(internal port: Int) async { await bound { $0.internal = port } }
    func bound(backchannel port: Int) async { await bound { $0.backchannel = port } }
    func bound(metrics port: Int) async { await bound { $0.metrics = port } }

    private func bound(_ change: (inout Bound) -> Void) async {
        let ports = ports.withLock { ports in
            change(&ports)
            return ports
        }
        guard let publicPort = ports.public, let internalPort = ports.internal,
            ports.backchannel != nil || !expectsBackchannel, ports.metrics != nil || !expectsMetrics
        else { return }
        await onStarted(
            BrokerServer.Ports(
                public: publicPort, internal: internalPort, backchannel: ports.backchannel,
                metrics: ports.metrics))
    }
}
