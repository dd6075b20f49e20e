import BrokerHTTP
import HTTPServer
import NativeSSO
import PostgresClient
import Registry
import Synchronization

/// What the database holds, as sampled once a minute, so that a scrape asks the database nothing.
final class RegistryReport: MetricSource {
    /// The time between two samples.
    static let interval: Duration = .seconds(60)

    private let sweeper: Sweeper
    private let clock: any WallClock
    private let latest = Mutex<RegistrySize?>(nil)

    init(database: any StatementExecutor, clock: any WallClock) {
        sweeper = Sweeper(database: database)
        self.clock = clock
    }

    /// During an outage the last values stay.
    func run() async {
        if let size = try? await sweeper.size() { latest.withLock { $0 = size } }
    }

    var samples: [MetricSample] {
        let size = latest.withLock { $0 }
        let now = clock.milliseconds / 1000
        return [
            MetricSample(
                "live_sessions", "Sessions that have not ended, estimated each minute from a sample of the rows.",
                .gauge,
                of: size.map { Double($0.sessions) }),
            MetricSample(
                "live_grants", "Grants of such sessions that are not revoked, estimated in the same way.", .gauge,
                of: size.map { Double($0.grants) }),
            MetricSample(
                "sweep_age_seconds", "Time since any broker began to delete expired records.", .gauge,
                of: size.map { Double(now - $0.sweptAt) }),
        ]
    }
}

/// Which identity providers an operator has suspended.
struct SuspensionReport: MetricSource {
    let snapshot: RegistrySnapshot
    let providers: [Issuer]

    var samples: [MetricSample] {
        let suspended = snapshot.lastSuspendedProviders
        return MetricSample.each(
            "idp_suspended", "1 if an operator has suspended the identity provider, else 0.", .gauge,
            providers.map { (MetricSample.Label("issuer", $0.string), suspended.contains($0) ? 1 : 0) })
    }
}

/// Refusals that the audit lost, and those that wait for the database.
struct AuditReport: MetricSource {
    let trail: PostgresAuditTrail
    let lost: Counter

    var samples: [MetricSample] {
        [
            .counter(
                "audit_events_lost_total",
                "Audit events lost: too many waited for the database, or it refused them.", lost.value),
            .gauge("audit_events_waiting", "Audit events that wait for the database.", trail.waiting),
        ]
    }
}
