import BrokerHTTP
import HTTPServer
import IdentityProvider
import Logging
import NativeSSO
import PostgresClient
import Registry

/// Reloads the copies of registry data: clients, scopes, and revoked keys of IdPs.
///
/// Identification and authentication use these copies, which may be as old as the interval; during an outage of the
/// database, as old as ``RegistrySnapshot/longestAge``. An exchange reads its own facts anew in its statement.
struct DirectoryRefresh: Sendable {
    private let snapshot: RegistrySnapshot
    private let providers: [ProviderKeys]
    private let store: ProviderKeyStore
    private let changes: ChangeLog
    private let unreadable: ChangeLog
    private let sharedKeys: ChangeLog

    init(_ snapshot: RegistrySnapshot, providers: [ProviderKeys], store: ProviderKeyStore, logger: Logger) {
        self.snapshot = snapshot
        self.providers = providers
        self.store = store
        changes = ChangeLog(logger)
        unreadable = ChangeLog(logger)
        sharedKeys = ChangeLog(logger)
    }

    func refresh() async {
        let versions: [String: String]
        do throws(PortError) {
            try await snapshot.reload()
            unreadable.note(problemOfRows, level: .error, "rows of the registry cannot be read")
            versions = try await store.versions()
            changes.note(nil, Self.message)
        } catch {
            changes.note("\(error)", Self.message)
            return
        }
        for provider in providers { await provider.reloadArchive(versions[provider.issuer.string] ?? "") }
        sharedKeys.note(problemOfSharedKeys, "a key is in two key sets")
    }

    /// Names five rows at most: a newer release may have changed many.
    private var problemOfRows: String? {
        let rows = snapshot.unreadableRows
        guard !rows.isEmpty else { return nil }
        var named = Array(rows.prefix(5))
        if rows.count > named.count { named.append((rows.count - named.count).counted("other row")) }
        return named.joined(separator: "; ")
    }

    /// The holder of such a key can log users in at both. Tenants of one provider may share keys; others should not.
    private var problemOfSharedKeys: String? {
        let sets = providers.map { ($0.issuer, $0.thumbprints) }
        for (place, (issuer, thumbprints)) in sets.enumerated() {
            for (other, others) in sets[(place + 1)...] where !thumbprints.isDisjoint(with: others) {
                return "\(issuer) and \(other) publish the same key"
            }
        }
        return nil
    }

    private static let message: Logger.Message = "clients cannot be read; the last copy stays in use for 60 s"
}

/// Sweeps in the background. Liveness does not depend on it.
struct SweepService: Sendable {
    /// The minimum time between two sweeps of all brokers together.
    private static let spacing: Seconds = .hours(1)
    static let interval: Duration = .seconds(spacing.count)

    private let sweeper: Sweeper
    private let logger: Logger
    private let complete = Counter()
    private let incomplete = Counter()
    private let failed = Counter()
    private let changes: ChangeLog

    init(database: any StatementExecutor, logger: Logger) {
        sweeper = Sweeper(database: database)
        self.logger = logger
        changes = ChangeLog(logger)
    }

    func run() async {
        do throws(PostgresError) {
            let report = try await sweeper.sweep(unlessWithin: Self.spacing)
            changes.note(nil, Self.message)
            guard let report else { return }
            (report.isComplete ? complete : incomplete).add()
            guard !report.isEmpty else { return }
            var metadata: Logger.Metadata = ["complete": .stringConvertible(report.isComplete)]
            for (name, count) in report.counts { metadata[name] = .stringConvertible(count) }
            logger.info("swept", metadata: metadata)
        } catch {
            failed.add()
            changes.note("\(error)", Self.message)
        }
    }

    private static let message: Logger.Message = "expired records cannot be deleted"
}

extension SweepService: MetricSource {
    var samples: [MetricSample] {
        [("complete", complete), ("incomplete", incomplete), ("failed", failed)].map { outcome, counter in
            .counter(
                "sweeps_total", "Sweeps by this broker, which delete expired records. The brokers take turns.",
                counter.value, label: ("outcome", outcome))
        }
    }
}
