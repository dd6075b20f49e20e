import BrokerTesting
import JOSE
import Logging
import NIOCore
import NativeSSO
import OAuthWire
import ServiceLifecycle
import StrictCoding
import Synchronization
import RegistryConformance
import Testing

@testable import BrokerHTTP
@testable import HTTPServer

/// A running broker on its own ports.
struct TestBroker: Sendable {
    struct Options: Sendable {
        var limits = ListenerLimits()
        var requestLimits = RequestLimits.none
        var trustedProxies = TrustedProxies.none
        /// The identity provider's endpoint, as the broker knows it.
        var authorizationEndpoint: String?
        /// The identity provider's endpoint in the metadata.
        var advertisedLogin: String?
        /// Replaces a free port.
        var publicSocket: String?
        /// Replaces a free port.
        var inheritedSocket: CInt?
        var identity: CurrentTLSIdentity?
        var internalIdentity: CurrentTLSIdentity?
        /// Whether metrics have a listener of their own.
        var movesMetrics = false
        var drainTimeout = Duration.seconds(10)
        /// Whether proofs must carry a nonce.
        var asksForNonce = false
        /// What the broker knows of clocks and database.
        var certainty = Certainty(clocks: { nil }, database: { nil })
        /// Between the domain and the registry.
        var gate: Gate?
        /// Whether logouts arrive at the backchannel listener, not at the internal one.
        var movesLogout = false
        /// Whether an address may begin a TLS handshake.
        var admitsHandshake: @Sendable (ClientAddress) -> Bool = { _ in true }
        /// One loop per core where `nil`.
        var eventLoopGroup: (any EventLoopGroup)?
    }

    let domain: Domain
    /// The clock of the limits.
    let monotonic = ManualClock()
    let log = LogLines()
    let connections = ConnectionCounts()
    let metrics: BrokerMetrics
    let check = SwitchableCheck()
    let keys = StubKeys()
    private(set) var ports: BrokerServer.Ports
    /// `nil` before the start.
    private(set) var server: BrokerServer?
    private let group: GroupBox

    /// Runs a broker around `body`, and waits until it has stopped.
    static func run(_ options: Options = Options(), _ body: (TestBroker) async throws -> Void) async throws {
        let broker = try TestBroker()
        let (starts, started) = AsyncStream.makeStream(of: Result<BrokerServer.Ports, any Error>.self)
        let (group, server) = broker.serviceGroup(options, started)
        broker.group.value.withLock { $0 = group }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                do {
                    try await group.run()
                } catch {
                    started.yield(.failure(error))  // the start failed
                    throw error
                }
            }
            var running = broker
            for await start in starts {
                running.ports = try start.get()
                break
            }
            running.server = server
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(running))
            } catch {
                result = .failure(error)
            }
            options.gate?.open()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try result.get()
        }
    }

    private init() throws {
        domain = try Domain()
        metrics = BrokerMetrics(sources: [TestGauges(), connections])
        ports = BrokerServer.Ports()
        group = GroupBox()
    }

    /// Begins a graceful stop, as SIGTERM does.
    func stop() async {
        await group.value.withLock { $0 }?.triggerGracefulShutdown()
    }

    private func serviceGroup(
        _ options: Options, _ started: AsyncStream<Result<BrokerServer.Ports, any Error>>.Continuation
    ) -> (ServiceGroup, BrokerServer) {
        let logger = Logger(label: "broker") { _ in log.handler() }
        let registry: any GrantRegistry =
            options.gate.map { GatedRegistry(registry: domain.registry, gate: $0) } ?? domain.registry
        let lifetimes = Lifetimes()
        let issuer = Domain.broker
        let mint = TokenMint(
            issuer: issuer, signer: domain.signer, refreshTokens: domain.macKeys, lifetimes: lifetimes,
            subjects: SubjectPrefixes([Domain.issuer: ""]))
        let readiness = Readiness(checks: [check])
        let limiter = RequestLimiter(options.requestLimits, clock: monotonic)
        let clients = ClientIdentification(
            issuer: issuer, tokenEndpoint: "https://sso.example.com/token", directory: domain.directory,
            assertions: domain.assertions, limiter: limiter, clock: domain.clock, logger: logger)
        let exchange = Exchange(
            idTokens: domain.verifier, registry: registry, directory: domain.directory, devices: domain.macKeys,
            limits: limiter, mint: mint, lifetimes: lifetimes, clock: domain.clock)
        let endpoint = TokenEndpoint(
            exchange: exchange,
            refresh: Refresh(registry: registry, limits: limiter, mint: mint, lifetimes: lifetimes),
            handoff: WebHandoff(
                exchange: exchange, registry: domain.registry, records: domain.macKeys, issuers: Domain.issuers),
            clients: clients,
            proofs: ProofVerifier(
                target: domain.tokenEndpoint,
                nonces: options.asksForNonce ? ProofNonces(keys: domain.macKeys, life: .minutes(5)) : nil,
                clock: domain.clock),
            limiter: limiter, logins: FixedLogins(options.authorizationEndpoint), issuers: Domain.issuers,
            certainty: options.certainty, audit: domain.audit, metrics: metrics, clock: domain.clock, logger: logger)
        let metadata = ServerMetadata(
            issuer: issuer, tokenEndpoint: "https://sso.example.com/token",
            keySetURI: "https://sso.example.com/jwks.json", signingAlgorithms: ["ES256"])
        let advertised = options.advertisedLogin
        let logout = LogoutEndpoint(
            logout: Logout(
                tokens: domain.logoutVerifier, registry: domain.logouts, directory: domain.directory,
                policies: [Domain.issuer: LogoutPolicy(audiences: [ClientID(validated: "native-sso")])],
                clock: domain.clock),
            limiter: limiter, certainty: options.certainty, audit: domain.audit, metrics: metrics, clock: domain.clock,
            logger: logger)
        let backchannel = BackchannelEndpoint(
            revocation: Revocation(
                registry: domain.revocations, refreshTokens: domain.macKeys, devices: domain.macKeys, limits: limiter,
                issuers: Domain.issuers.map(\.issuer)),
            introspection: Introspection(
                issuer: issuer, algorithms: [.es256], key: { _ in Domain.verificationKey },
                registry: domain.revocations, idle: lifetimes.sessionIdle, clock: domain.clock),
            logout: options.movesLogout ? logout : nil,
            events: SecurityEventEndpoint(
                events: SecurityEvents(verifier: domain.eventVerifier, registry: domain.logouts, clock: domain.clock),
                takesEvents: true, takesRevocations: true, limiter: limiter, certainty: options.certainty,
                metrics: metrics), clients: clients,
            certainty: options.certainty, audit: domain.audit, metrics: metrics,
            clock: domain.clock, logger: logger)
        var configuration = BrokerServer.Configuration(publicLimits: options.limits)
        configuration.publicAddress =
            options.publicSocket.map { .unixSocket($0) } ?? options.inheritedSocket.map { .inherited($0) }
            ?? .init(port: 0)
        configuration.internalAddress = .init(port: 0)
        configuration.trustedProxies = options.trustedProxies
        (configuration.publicIdentity, configuration.internalIdentity) = (options.identity, options.internalIdentity)
        configuration.metricsAddress = options.movesMetrics ? .init(port: 0) : nil
        (configuration.internalLimits, configuration.drainTimeout) = (options.limits, options.drainTimeout)
        let server = BrokerServer(
            configuration: configuration, tokenEndpoint: endpoint,
            internalEndpoint: InternalEndpoint(
                readiness: readiness, keys: keys, metadata: metadata,
                authorizationEndpoint: { advertised }, directory: domain.directory, metrics: metrics,
                logout: options.movesLogout ? nil : logout, clock: domain.clock, logger: logger),
            backchannel: BrokerServer.Backchannel(
                endpoint: backchannel, address: .init(port: 0), limits: options.limits,
                trustedProxies: options.trustedProxies, identity: options.identity),
            readiness: readiness, clock: domain.clock, connections: connections,
            admitsHandshake: options.admitsHandshake, eventLoopGroup: options.eventLoopGroup, logger: logger,
            onStarted: { started.yield(.success($0)) })
        return (ServiceGroup(configuration: ServiceGroupConfiguration(services: [server], logger: logger)), server)
    }
}

final class GroupBox: Sendable {
    let value = Mutex<ServiceGroup?>(nil)
}

/// The log lines of requests, as the broker would print them.
final class LogLines: Sendable {
    private let texts = Mutex<[String]>([])

    /// Lines about requests.
    var requests: [JSONObject] { lines("token request") }
    /// Lines about refused requests to the internal listener.
    var internalRequests: [JSONObject] { lines("internal request") }

    /// Lines about requests to the backchannel listener.
    var backchannelRequests: [JSONObject] { lines("backchannel request") }
    /// Lines about logouts.
    var logouts: [JSONObject] { lines("logout request") }

    private func lines(_ message: String) -> [JSONObject] {
        texts.withLock { $0 }.compactMap { try? JSONReader.parse(Array($0.utf8)).object }
            .filter { $0.string("msg") == message }
    }

    var all: String { texts.withLock { $0.joined() } }

    func handler() -> any LogHandler { Handler(lines: self) }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let text = LogFormat.json.render(event)
            lines.texts.withLock { $0.append(text) }
        }
    }
}

extension LogFormat {
    /// One event as it would be written, with its line end.
    func render(_ event: LogEvent, at time: LogTime = LogTime.system()) -> String {
        String(decoding: LogLine(self, event, event.metadata ?? [:], time).octets, as: UTF8.self)
    }
}

struct TestGauges: MetricSource {
    var samples: [MetricSample] { [.gauge("database_connections", "Open connections.", 7)] }
}

final class SwitchableCheck: ReadinessCheck {
    let help: StaticString = "A test turns it on and off."
    private let state = Mutex<StaticString?>(nil)
    let name = "database"
    func problem() async -> StaticString? { state.withLock { $0 } }
    func fail(_ reason: StaticString?) { state.withLock { $0 = reason } }
}

final class StubKeys: PublishedKeys {
    private let failure = Mutex<PortError?>(nil)
    let maximumAge: Seconds = 300
    func fail(with error: PortError?) { failure.withLock { $0 = error } }
    func keySet() async throws(PortError) -> [UInt8] {
        if let failure = failure.withLock({ $0 }) { throw failure }
        return Array(#"{"keys":[]}"#.utf8)
    }
}

extension TestBroker {
    /// Sends octets to a new broker. Expects the given refusal, no issued tokens, one log line, and a working broker
    /// afterwards.
    static func expectRefusal(
        _ request: String, status: Int, reason: String, closes: Bool = true, error: String = "invalid_request"
    ) async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                await client.trySend(request)
                let answer = try #require(await client.lastAnswer())
                #expect(answer.status == status)
                #expect(answer.error == error)
                #expect(answer.closes == closes)
                if closes {
                    client.finish()
                    #expect(await client.lastAnswer() == nil)
                }
            }
            #expect(broker.log.requests.map { $0.string("reason") } == [reason])
            #expect(broker.domain.registry.admissions.isEmpty)
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
        }
    }
}
