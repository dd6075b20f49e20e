import BrokerHTTP
import IdentityProvider
import KeyModule
import Migrator
import NativeSSO
import PostgresClient
import Registry

/// The metrics of the database connections and of the log.
struct ConnectionReport: MetricSource {
    let lanes: BatchingLanes
    let pool: ConnectionPool
    let sink: LogSink

    var samples: [MetricSample] {
        let (lanes, pool) = (lanes.statistics, pool.statistics)
        return [
            .gauge(
                "database_lane_connections", "Open lane connections. Lanes run exchanges and refreshes.",
                lanes.connections.connections),
            .gauge("database_lane_queue_depth", "Calls waiting for a lane.", lanes.queueDepth),
            .counter(
                "database_lane_connects_total", "Lane connections opened since the start.",
                lanes.connections.connectsTotal),
            .counter(
                "database_lane_connect_failures_total", "Failed attempts to open a lane connection.",
                lanes.connections.connectFailuresTotal),
            .counter("database_lane_batches_total", "Batches sent to the database.", lanes.batchesTotal),
            .counter("database_lane_calls_total", "Calls in these batches.", lanes.callsTotal),
            .counter(
                "database_lane_gathered_calls_total", "Calls that shared one statement with others.",
                lanes.gatheredCallsTotal),
            .counter("database_lane_failed_batches_total", "Batches rolled back.", lanes.failedBatchesTotal),
            .counter(
                "database_lane_repeated_calls_total", "Calls repeated after their batch was rolled back.",
                lanes.repeatedCallsTotal),
            .counter(
                "database_lane_calls_aside_total", "Calls that met a lock or a conflict and ran on their own.",
                lanes.callsAsideTotal),
            .counter(
                "database_lane_shed_total", "Calls refused because the queue was full or the wait too long.",
                lanes.shedTotal),
            .gauge(
                "database_connections", "Open pool connections. The pool runs everything but exchanges and refreshes.",
                pool.connections.connections),
            .gauge("database_queue_depth", "Calls waiting for a pool connection.", pool.queueDepth),
            .counter(
                "database_connects_total", "Pool connections opened since the start.", pool.connections.connectsTotal),
            .counter(
                "database_connect_failures_total", "Failed attempts to open a pool connection.",
                pool.connections.connectFailuresTotal),
            .counter(
                "database_shed_total", "Calls refused because the queue was full or the wait too long.", pool.shedTotal),
            .counter("log_lines_dropped_total", "Log lines lost since the start.", sink.droppedLines),
        ]
    }
}

/// Ready if the database answers and has this version's schema or a newer one: during an upgrade the older release
/// still serves. Asks over the lanes, as requests do.
struct DatabaseCheck: ReadinessCheck {
    let name = "database"
    let help: StaticString =
        """
        The database answers and has this schema: `unavailable`, `not_migrated` (run `migrate up`), `foreign_schema`, \
        `database_went_backwards` (see `database accept`).
        """
    let database: any StatementExecutor

    func problem() async -> StaticString? {
        do throws(PostgresError) {
            switch try await Migrator.incompatibility(of: database) {
            case nil, .databaseIsNewer: return nil
            case .pending: return "not_migrated"
            default: return "foreign_schema"
            }
        } catch {
            return error == .unavailable(.databaseWentBackwards) ? "database_went_backwards" : "unavailable"
        }
    }
}

/// Ready while the copy of the registry is young enough to answer.
struct DirectoryCheck: ReadinessCheck, MetricSource {
    let name = "registry"
    let help: StaticString = "Clients and scopes were read within the last 60 s: `never_loaded`, `too_old`."
    let snapshot: RegistrySnapshot

    func problem() async -> StaticString? {
        guard snapshot.isLoaded else { return "never_loaded" }
        return snapshot.isUsable ? nil : "too_old"
    }

    var samples: [MetricSample] {
        [
            .gauge(
                "registry_copy_age_seconds",
                "Time since the broker last read clients, scopes and suspensions, or since the start.",
                snapshot.age.components.seconds),
            .gauge(
                "registry_rows_unreadable",
                "Rows of clients, scopes and suspensions that the broker cannot read. What needs one gets 503.",
                snapshot.unreadableRows.count),
        ]
    }
}

/// Ready if every use has a loaded active key. At the start, all published keys must be loaded too. Otherwise this JWKS
/// lacks a key that other brokers will soon sign with, and resource servers would refuse their tokens.
///
/// After that, a missing published key only shows in the log and in ``samples``. An operator may publish a key before
/// every broker has its file; this must not stop the brokers. Tokens of retired keys expire on their own.
struct KeyCheck: ReadinessCheck, MetricSource {
    let name = "key_module"
    let help: StaticString =
        "Each key use has an active key here: `never_loaded`, `no_active_key`, `published_key_not_loaded` (at the start)."
    let ring: KeyRing

    func problem() async -> StaticString? {
        guard let keys = ring.current else { return "never_loaded" }
        guard keys.missing.isEmpty else { return "no_active_key" }
        return ring.hasBeenWhole ? nil : "published_key_not_loaded"
    }

    var samples: [MetricSample] {
        [
            .gauge(
                "keys_not_loaded", "Keys that this broker could not load: active, published and retired ones.",
                ring.current?.problems.count ?? 0),
            .gauge(
                "keys_suspended", "Keys that an operator has suspended: they sign nothing.", ring.suspendedKIDs.count),
        ]
    }
}

/// How old the key set of each IdP is.
struct KeySetReport: MetricSource {
    let providers: [ProviderKeys]
    /// Of transmitters with a key set of their own.
    let events: [ProviderKeys]
    /// Of signers of revocations with a key set of their own.
    let revocations: [ProviderKeys]

    var samples: [MetricSample] {
        Self.samples(
            providers, age: "idp_key_set_age_seconds",
            "Time since the last good fetch of an identity provider's key set, or since the start.",
            failures: "idp_key_set_failures_total", "Fetches of an identity provider's key set that failed.")
            + Self.samples(
                events, age: "security_event_key_set_age_seconds",
                "Time since the last good fetch of a security event transmitter's own key set, or since the start.",
                failures: "security_event_key_set_failures_total",
                "Fetches of a security event transmitter's own key set that failed.")
            + Self.samples(
                revocations, age: "global_revocation_key_set_age_seconds",
                "Time since the last good fetch of a global revocation signer's own key set, or since the start.",
                failures: "global_revocation_key_set_failures_total",
                "Fetches of a global revocation signer's own key set that failed.")
    }

    private static func samples(
        _ keys: [ProviderKeys], age: StaticString, _ ageHelp: StaticString, failures: StaticString,
        _ failuresHelp: StaticString
    ) -> [MetricSample] {
        let all = keys.map { (MetricSample.Label("issuer", $0.issuer.string), $0.fetches) }
        return MetricSample.each(age, ageHelp, .gauge, all.map { ($0, Double($1.age.components.seconds)) })
            + MetricSample.each(failures, failuresHelp, .counter, all.map { ($0, Double($1.failed)) })
    }
}

/// Whether tokens of an identity provider can be verified. A transmitter of security events has no such check: without
/// its keys the broker still serves logins, and the transmitter sends its events again.
struct IdentityProviderCheck: ReadinessCheck {
    let keys: ProviderKeys
    var name: String { "identity_provider \(keys.issuer)" }
    let help: StaticString = "The broker has a usable key set of this identity provider: `no_key_set`."

    func problem() async -> StaticString? { keys.isReady ? nil : "no_key_set" }
}
