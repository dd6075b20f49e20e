import BrokerHTTP
import HTTPServer
import IdentityProvider
import KeyModule
import Logging
import Migrator
import NativeSSO
import PostgresClient
import Registry
import ServiceLifecycle
import UnixSignals

extension Broker {
    /// Interval for reloading clients and keys; a database notification reloads them sooner. An operator's change
    /// reaches every broker within this time, even if a notification is lost.
    private static let refreshInterval: Duration = .seconds(3)
    /// The channel on which the schema's triggers announce changes.
    private static let changes: StaticString = "native_sso_registry"
    /// After SIGTERM, services that still run after this time are cancelled.
    private static let stopTimeout: Duration = .seconds(30)
    /// In seconds: then the process is killed. See ``StopLimit``.
    private static let stopLimit: UInt32 = 40
    /// Maximum wait for the database at the start; then the broker starts without it.
    private static let startTimeout: Duration = .seconds(2)

    /// Runs until SIGTERM or SIGINT.
    ///
    /// It starts and answers `/livez` even if its dependencies are down. `/readyz` reports whether it can serve
    /// requests.
    func run() async throws(CommandFailure) {
        let directory = DirectoryRefresh(
            snapshot, providers: providers.map(\.keys), store: ProviderKeyStore(database: pool), logger: logger)
        let hasPassed: Bool
        do throws(CommandFailure) {
            hasPassed = try await prepare(directory)
        } catch {
            await close()
            throw error
        }
        ProgramCode.release()
        do {
            try await ServiceGroup(configuration: group(directory, hasPassed: hasPassed)).run()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .infrastructure("the broker cannot run: \(error)")
        }
    }

    /// Loads data before the first request. An existing but wrong key stops the start: waiting does not repair it,
    /// and the other brokers continue. For a signer or a token that is away, the broker waits.
    ///
    /// - Returns: Whether ``StartChecks`` have passed.
    private func prepare(_ directory: DirectoryRefresh) async throws(CommandFailure) -> Bool {
        do {
            async let isLaneConnected: Void = lanes.waitUntilConnected(within: Self.startTimeout)
            try await pool.waitUntilConnected(within: Self.startTimeout)
            try await isLaneConnected
        } catch PostgresError.unavailable(.transactionPooling) {
            throw .refused(PostgresError.Reason.transactionPoolingRemedy)
        } catch {
            logger.warning("the database does not answer yet", metadata: ["reason": "\(error)"])
            return false
        }
        // At the same time, because none of them needs another.
        async let schema: Void = reportSchema()
        async let loaded = keys.load()
        let hasPassed = try await startChecks.pass()
        if let problem = await (loaded ?? []).first(where: { $0.state == .active && !$0.isOutage }) {
            throw .infrastructure(problem.description)
        }
        commits.begin()
        // After the keys, because the device key authenticates the archived keys of IdPs.
        for provider in providers { provider.keys.begin() }
        await directory.refresh()
        await schema
        return hasPassed
    }

    private var startChecks: StartChecks {
        StartChecks(configuration: configuration, database: pool, logger: logger)
    }

    /// A schema that does not fit leaves the broker not ready until someone migrates. The log says what to do.
    private func reportSchema() async {
        guard let problem = try? await Migrator.incompatibility(of: lanes) else { return }
        if case .databaseIsNewer = problem {
            logger.notice(
                "the schema is newer than this program, which still serves", metadata: ["problem": "\(problem)"])
        } else {
            logger.error("the schema does not fit this program", metadata: ["problem": "\(problem)"])
        }
    }

    /// The services stop in reverse order, each after the next one has ended. Requests keep their database, codes are
    /// settled, and refusals get their audit record.
    private func group(_ directory: DirectoryRefresh, hasPassed: Bool) -> ServiceGroupConfiguration {
        let (keys, audit, pool, lanes, commits, pendingCodes) = (keys, audit, pool, lanes, commits, pendingCodes)
        let (documents, codes) = (documents, codes.values)
        let providers = providers.map(\.keys) + eventKeys.flatMap(\.all)
        let (sweep, registrySize) = (sweep, registrySize)
        var services: [any Service] = [
            ClosingService { await pool.shutdown() },
            ClosingService { await commits.shutdown() },
            ClosingService { await lanes.shutdown() },
            ClosingService { for client in documents { try? await client.shutdown() } },
            ClosingService { for client in codes { try? await client.shutdown() } },
            AuditService(audit: audit),
            RefreshService(changes: pool.notifications(on: Self.changes), interval: Self.refreshInterval) {
                // Apart, because a provider of keys that hangs must not make the copy of the registry old.
                Task { try? await keys.refresh() }
                await directory.refresh()
            },
            BackgroundService.periodic(SweepService.interval) { await sweep.run() },
            BackgroundService.periodic(RegistryReport.interval) { await registrySize.run() },
            BackgroundService.periodic(CommitProbe.interval) { await commits.run() },
            HangupService {
                readCertificatesAgain()
                await keys.readAgain()
                await withDiscardingTaskGroup { group in
                    for provider in providers { group.addTask { await provider.readAgain() } }
                }
            },
        ]
        if !hasPassed { services.append(startChecks) }
        services += providers.map { provider in BackgroundService { await provider.run() } }
        let server = server
        if let manager {
            let report = ServiceManagerReport(manager: manager, checks: checks) { await server.passEventLoops() }
            services.append(BackgroundService.periodic(manager.interval) { await report.run() })
        }
        services += [
            ClosingService { await pendingCodes.finished() }, server,
            StopLimit(seconds: Self.stopLimit, logger: logger, manager: manager),
        ]
        var group = ServiceGroupConfiguration(
            services: services.map { .named($0) }, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = Self.stopTimeout
        return group
    }

    func close() async {
        await lanes.shutdown()
        await pool.shutdown()
        await commits.shutdown()
        for client in documents { try? await client.shutdown() }
        for client in codes.values { try? await client.shutdown() }
    }

    /// Reloads certificates and keys. Existing connections keep the old ones. Invalid files change nothing.
    private func readCertificatesAgain() {
        for case (let files?, let tls?) in zip(configuration.tlsFiles, tls) {
            do throws(ValueDefect) {
                let identity = try files.read()
                tls.replace(by: identity)
                logger.notice(
                    "certificate was read again",
                    metadata: ["not_after": .string(UnixTime(seconds: identity.notAfter).rfc3339)])
                if let doubt = TLSFiles.doubt(about: identity, at: clock.now) {
                    logger.warning("certificate is doubtful", metadata: ["problem": .string(doubt)])
                }
            } catch {
                logger.error(
                    "certificate was not read again; the present one stays in use",
                    metadata: ["problem": .string(error.message)])
            }
        }
    }
}
