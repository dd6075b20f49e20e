import BrokerHTTP
import Glibc
import HTTPServer
import IdentityProvider
import KeyModule
import Logging
import NativeSSO
import PostgresClient
import Registry

/// The broker's components, each created once.
///
/// Creating them only starts the database connections, in the background.
struct Broker: Sendable {
    let configuration: Configuration
    let logger: Logger
    let clock = SystemClock()
    /// Milliseconds since 1970.
    let startedAt = SystemClock().milliseconds
    /// For exchanges and refreshes.
    let lanes: BatchingLanes
    /// For everything else.
    let pool: ConnectionPool
    /// The shared part of the pool for enrolments, codes and logouts. Readiness, snapshots, keys and the audit need
    /// the rest.
    let shared: BoundedExecutor
    let logouts: PostgresLogoutRegistry
    let ring: KeyRing
    let keys: KeyRefresh
    let commits: CommitProbe
    let serving: ServingCheck
    let snapshot: RegistrySnapshot
    let audit: PostgresAuditTrail
    let lostAuditEvents: Counter
    let databaseTimes = DatabaseTimes()
    let registrySize: RegistryReport
    let sweep: SweepService
    let relaySlots = RelaySlots()
    /// The first serves all IdPs that the system's CAs vouch for; each other IdP has its own.
    let documents: [DocumentClient]
    /// Codes use their own HTTP connections.
    let codes: [Issuer: TokenEndpointClient]
    let pendingCodes = PendingCodes()
    /// The certificate of each of ``Configuration/tlsFiles``; `nil` without TLS.
    let tls: [CurrentTLSIdentity?]
    /// `nil`: no service manager asked for messages.
    let manager: ServiceManager?
    /// The enabled IdPs in the order of the configuration.
    let providers: [(configuration: Configuration.IdentityProvider, keys: ProviderKeys)]
    /// Of the signers of events that do not use the keys of their IdP, in the same order.
    let eventKeys: [EventKeys]

    /// - Throws: Errors that waiting does not repair: the key directory, or an invalid setting.
    init(_ configuration: Configuration, manager: ServiceManager? = nil, logger: Logger) throws {
        self.configuration = configuration
        self.manager = manager
        self.logger = logger
        tls = configuration.tlsFiles.map { $0.map { CurrentTLSIdentity($0.identity) } }
        let provider = try configuration.keys.provider()
        try provider.check()
        let connection = try configuration.database.connection(pool: configuration.database.pool)
        let single = try configuration.database.connection(pool: 1)
        let file = try configuration.database.memoryFile()
        var randomness = SystemRandomNumberGenerator()
        let remembered = file?.contents ?? MemoryFile.Contents(broker: .random(using: &randomness))

        // Nothing below may throw: HTTP clients must be shut down before release.
        let history = DatabaseHistory(
            look: BrokerCount.look, counting: BrokerCount.count, broker: remembered.broker.octets,
            memory: remembered.memory)
        let connections = ConnectionLog(logger)
        lanes = BatchingLanes(connection.forHotCalls(), history: history) { connections.note($0) }
        let pool = ConnectionPool(connection, history: history) { connections.note($0) }
        self.pool = pool
        shared = BoundedExecutor(pool, atOnce: max(configuration.database.pool - 2, 1))
        let lostAuditEvents = Counter()
        self.lostAuditEvents = lostAuditEvents
        audit = PostgresAuditTrail(database: databaseTimes.measuring(.audit, on: pool)) { lost in
            lostAuditEvents.add(Int64(lost))
            logger.error("audit events lost", metadata: ["events": .stringConvertible(lost)])
        }
        logouts = PostgresLogoutRegistry(
            database: databaseTimes.measuring(.logout, on: shared), atOnce: max(configuration.database.pool * 3 / 8, 1))
        let clock = clock
        ring = KeyRing(quota: configuration.keys.quota)
        keys = KeyRefresh(
            store: SigningKeyStore(database: pool), provider: provider, replica: configuration.keys.replica, ring: ring,
            logger: logger)
        ring.readsAgain { [keys] () async throws(PortError) in try await keys.refresh() }
        snapshot = RegistrySnapshot(database: pool)
        commits = CommitProbe(
            database: ConnectionPool(single, history: history) { connections.note($0) }, history: history,
            broker: remembered.broker, file: file?.file, clock: clock,
            serves: { [ring, snapshot] in snapshot.isUsable && ring.canIssue }, logger: logger)
        serving = ServingCheck(
            registry: PostgresGrantRegistry(database: lanes), ring: ring, issuer: configuration.issuer,
            logger: logger)
        sweep = SweepService(database: pool, logger: logger)
        registrySize = RegistryReport(database: pool, clock: clock)
        let (unpinned, store, ring) = (DocumentClient(), ProviderKeyStore(database: pool), ring)
        var (documents, codes) = ([unpinned], [Issuer: TokenEndpointClient]())
        var eventKeys: [EventKeys] = []
        providers = configuration.identityProviders.filter { !$0.isDisabled }.map { provider in
            let archive = RegisteredKeyArchive(store, authenticator: ring, clock: clock, logger: logger)
            let own = provider.certificateAuthorities.map { DocumentClient(authorities: $0) }
            if let own { documents.append(own) }
            if provider.codeRelay != nil {
                codes[provider.issuer] = TokenEndpointClient(authorities: provider.certificateAuthorities)
            }
            func keys(of issuer: Issuer, from source: KeySource, _ archive: any KeyArchive) -> ProviderKeys {
                ProviderKeys(
                    issuer: issuer,
                    fetcher: KeySetFetcher(
                        issuer: issuer, source: source, documents: own ?? unpinned,
                        allowsLoopbackHTTP: configuration.isDevelopment),
                    archive: archive,
                    settings: ProviderKeys.Settings(
                        refreshInterval: .seconds(provider.keySetRefresh.count),
                        honoursRetiredKeys: !provider.revokesOnRemoval),
                    wallClock: clock, logger: logger)
            }
            func keys(of events: Configuration.EventSource?) -> ProviderKeys? {
                guard let events, let source = events.keySource else { return nil }
                return keys(of: events.issuer, from: source, RevokedKeys(archive: archive))
            }
            eventKeys.append(
                EventKeys(
                    events: keys(of: provider.securityEvents), revocations: keys(of: provider.globalTokenRevocation)))
            return (provider, keys(of: provider.issuer, from: provider.keySource, archive))
        }
        self.eventKeys = eventKeys
        self.documents = documents
        self.codes = codes
    }
}

/// The keys of an IdP's signers of events; `nil`: the IdP's own.
struct EventKeys: Sendable {
    let events: ProviderKeys?
    let revocations: ProviderKeys?

    var all: [ProviderKeys] { [events, revocations].compactMap(\.self) }
}

struct SystemClock: WallClock {
    var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// The process's limit on open files, which include connections.
enum OpenFileLimit {
    /// Files other than app connections: database, keys, the internal listener, the log.
    static let others = 512

    /// Raises the soft limit to the hard limit.
    /// - Returns: The limit, if it is too low for `connections`.
    static func raise(for connections: Int) -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        let count = Int(clamping: limit.rlim_cur)
        return count - others < connections ? count : nil
    }
}
