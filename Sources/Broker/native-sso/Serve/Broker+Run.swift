import BrokerHTTP
import HTTPServer
import IdentityProvider
import KeyModule
import Logging
import NativeSSO
import PostgresClient
import ServiceLifecycle
import UnixSignals

extension Broker {
    /// Clients and keys are read again when the database says that they changed, and this often in any case: a change by
    /// the operator is in use on every broker this soon, whatever becomes of a notification.
    private static let refreshInterval: Duration = .seconds(3)
    /// Where the triggers of the schema tell of changes.
    private static let changes: StaticString = "native_sso_registry"
    /// What is not ended by then after SIGTERM is cancelled.
    private static let stopTimeout: Duration = .seconds(30)
    /// What does not end then either is ended with the program: see ``StopLimit``.
    private static let stopLimit: UInt32 = 40
    /// How long the start waits for a database that is slow to answer, before it goes on without.
    private static let startTimeout: Duration = .seconds(2)

    /// Runs until SIGTERM or SIGINT.
    ///
    /// It comes up, and answers `/livez`, whatever else is down; `/readyz` says whether it can do its work.
    func run() async throws(CommandFailure) {
        let directory = DirectoryRefresh(snapshot, providers: providers.map(\.keys), logger: logger)
        do throws(CommandFailure) {
            try await prepare(directory)
        } catch {
            await close()
            throw error
        }
        do {
            try await ServiceGroup(configuration: group(directory)).run()
        } catch {
            throw .infrastructure("the broker cannot run: \(error)")
        }
    }

    /// Loads what can be loaded before the first request. Keys that are there but wrong end the start: no waiting mends
    /// them, and the other brokers go on with theirs.
    private func prepare(_ directory: DirectoryRefresh) async throws(CommandFailure) {
        do throws(PostgresError) {
            try await pool.waitUntilConnected(within: Self.startTimeout)
            try await lanes.waitUntilConnected(within: Self.startTimeout)
        } catch {
            logger.warning("the database does not answer yet", metadata: ["reason": "\(error)"])
            return
        }
        // First, because the device key vouches for what is remembered of the identity providers' keys.
        if let problem = await keys.refresh().first(where: { $0.state == .active }) {
            throw .infrastructure(problem.description)
        }
        await directory.refresh()
    }

    /// Stopped in reverse order, each when the one after it has ended: no request is left without its database, no
    /// code without its end, no refusal without its audit record.
    private func group(_ directory: DirectoryRefresh) -> ServiceGroupConfiguration {
        let reload = reload
        let (keys, audit, pool, lanes, commits, pendingCodes) = (keys, audit, pool, lanes, commits, pendingCodes)
        let (documents, codes, providers) = (documents, codes.values, providers.map(\.keys))
        let sweep = SweepService(database: pool, logger: logger)
        var services: [any Service] = [
            ClosingService { await pool.shutdown() },
            ClosingService { await lanes.shutdown() },
            ClosingService { for client in documents { try? await client.shutdown() } },
            ClosingService { for client in codes { try? await client.shutdown() } },
            AuditService(audit: audit),
            RefreshService(changes: pool.notifications(on: Self.changes), interval: Self.refreshInterval) {
                await directory.refresh()
                await keys.refresh()
            },
            BackgroundService.periodic(SweepService.interval) { await sweep.run() },
            BackgroundService.periodic(CommitProbe.interval) { await commits.run() },
            HangupService {
                reload?.readAgain()
                await keys.readAgain()
                await withDiscardingTaskGroup { group in
                    for provider in providers { group.addTask { await provider.readAgain() } }
                }
            },
        ]
        services += providers.map { provider in BackgroundService { await provider.run() } }
        services += [
            ClosingService { await pendingCodes.finished() }, server,
            StopLimit(seconds: Self.stopLimit, logger: logger),
        ]
        var group = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = Self.stopTimeout
        return group
    }

    /// `nil` without TLS.
    private var reload: TLSReload? {
        guard let files = configuration.publicListener.tls, let tls else { return nil }
        return TLSReload(files: files, current: tls, clock: clock, logger: logger)
    }

    private func close() async {
        await lanes.shutdown()
        await pool.shutdown()
        for client in documents { try? await client.shutdown() }
        for client in codes.values { try? await client.shutdown() }
    }
}

/// Reads certificate and key again. Present connections keep what they have; files that are wrong change nothing.
struct TLSReload: Sendable {
    let files: TLSFiles
    let current: CurrentTLSIdentity
    let clock: SystemClock
    let logger: Logger

    func readAgain() {
        do throws(ValueDefect) {
            let identity = try files.read()
            current.replace(by: identity)
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
