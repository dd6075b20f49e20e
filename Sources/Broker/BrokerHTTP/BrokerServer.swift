package import HTTPServer
package import Logging
package import NIOCore
import NIOPosix
package import NativeSSO
package import ServiceLifecycle
import Synchronization

/// The listeners, from bind to graceful stop.
///
/// The order of a stop: `/readyz` reports not ready; the public listener accepts no more, answers its open requests and
/// closes; the backchannel and the internal listener follow, so that operators can watch the whole stop.
package struct BrokerServer: Service {
    package struct Configuration: Sendable {
        package var publicAddress = ListenerAddress(port: 8080)
        package var internalAddress = ListenerAddress(port: 8081)
        package var publicLimits: ListenerLimits
        /// The proxies in front of the public listener.
        package var trustedProxies = TrustedProxies.none
        /// Of the public listener; `nil`: plaintext.
        package var publicIdentity: CurrentTLSIdentity?
        /// Of the internal listener; `nil`: plaintext.
        package var internalIdentity: CurrentTLSIdentity?
        /// Where metrics are instead of at the internal listener; `nil`: there.
        package var metricsAddress: ListenerAddress?
        /// Separate limits: a flood on the internal listener takes nothing from the public one.
        package var internalLimits = ListenerLimits(connections: 256, bufferedOctets: 4 << 20)
        /// The time for a graceful stop; requests that are still open then are cut off.
        package var drainTimeout: Duration = .seconds(10)

        package init(publicLimits: ListenerLimits) { self.publicLimits = publicLimits }
    }

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
        package fileprivate(set) var `public` = 0
        package fileprivate(set) var `internal` = 0
        /// `nil`: there is no such listener.
        package fileprivate(set) var backchannel: Int?
        /// `nil`: there is no such listener.
        package fileprivate(set) var metrics: Int?

        package init() {}
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
        let optional = [backchannel != nil, configuration.metricsAddress != nil]
        let start = StartGate(listeners: 2 + optional.count(where: \.self)) { [readiness, onStarted] ports in
            readiness.begin()
            await onStarted(ports)
        }
        let publicListener = HTTPListener(
            tokenEndpoint, at: configuration.publicAddress, limits: configuration.publicLimits, date: date,
            executors: executors, proxies: configuration.trustedProxies, identity: configuration.publicIdentity,
            counts: connections, admitsHandshake: admitsHandshake, eventLoopGroup: eventLoopGroup
        ) { port in await start.bound { $0.public = port } }
        let internalListener = HTTPListener(
            configuration.metricsAddress == nil ? internalEndpoint : internalEndpoint.withoutMetrics,
            at: configuration.internalAddress, limits: configuration.internalLimits, date: date,
            executors: executors, identity: configuration.internalIdentity, eventLoopGroup: eventLoopGroup
        ) { port in await start.bound { $0.internal = port } }
        let metricsListener = configuration.metricsAddress.map { address in
            HTTPListener(
                internalEndpoint.monitoring, at: address, limits: configuration.internalLimits, date: date,
                executors: executors, eventLoopGroup: eventLoopGroup
            ) { port in await start.bound { $0.metrics = port } }
        }
        let backchannelListener = backchannel.map { backchannel in
            HTTPListener(
                backchannel.endpoint, at: backchannel.address, limits: backchannel.limits, date: date,
                executors: executors, proxies: backchannel.trustedProxies, identity: backchannel.identity,
                admitsHandshake: admitsHandshake, eventLoopGroup: eventLoopGroup
            ) { port in await start.bound { $0.backchannel = port } }
        }
        // Stopped in reverse order, each after the previous one has ended.
        let services: [(any Service)?] = [
            metricsListener, internalListener, backchannelListener, publicListener, DrainGate(readiness: readiness),
        ]
        var group = ServiceGroupConfiguration(
            services: services.compactMap(\.self).map { .named($0) }, logger: logger)
        group.maximumGracefulShutdownDuration = configuration.drainTimeout
        try await ServiceGroup(configuration: group).run()
    }
}

extension ServiceGroupConfiguration.ServiceConfiguration {
    /// A service with the name of its type. The default name is a dump of the service with all its values: it costs
    /// milliseconds, and an error report would print it.
    package static func named(_ service: any Service) -> Self {
        Self(service: service, serviceName: "\(type(of: service))")
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
    private let state: Mutex<(ports: BrokerServer.Ports, missing: Int)>
    private let onStarted: @Sendable (BrokerServer.Ports) async -> Void

    init(listeners: Int, _ onStarted: @escaping @Sendable (BrokerServer.Ports) async -> Void) {
        state = Mutex((BrokerServer.Ports(), listeners))
        self.onStarted = onStarted
    }

    func bound(_ note: (inout BrokerServer.Ports) -> Void) async {
        let ports = state.withLock { state -> BrokerServer.Ports? in
            note(&state.ports)
            state.missing -= 1
            return state.missing == 0 ? state.ports : nil
        }
        if let ports { await onStarted(ports) }
    }
}
