import BrokerHTTP
import IdentityProvider
import KeyModule
import Migrator
import NativeSSO
import PostgresClient
import Registry

/// The database answers and has the schema of this version, or of a newer one: during an upgrade the older release
/// serves on. Asked in the way in which requests ask.
struct DatabaseCheck: ReadinessCheck {
    let name = "database"
    let database: any StatementExecutor

    func problem() async -> StaticString? {
        do throws(PostgresError) {
            switch try await Migrator.incompatibility(of: database) {
            case nil, .databaseIsNewer: return nil
            case .pending: return "not_migrated"
            default: return "foreign_schema"
            }
        } catch {
            return "unavailable"
        }
    }
}

/// Clients and scopes were loaded.
struct DirectoryCheck: ReadinessCheck {
    let name = "registry"
    let snapshot: RegistrySnapshot

    func problem() async -> StaticString? { snapshot.isLoaded ? nil : "never_loaded" }
}

/// Every use has an active key that is loaded, and at the start so are the published ones: a broker that lacks the file of one
/// would show a JWKS without it, and whoever asks it for keys would refuse what the others are about to sign.
///
/// Once all were there, one that is missing later is an error in the log and in ``KeyReport``, and no more: whoever publishes a
/// key before its file is on every broker must not end the service of all of them. What a retired key made dies out by itself.
struct KeyCheck: ReadinessCheck {
    let name = "key_module"
    let ring: KeyRing

    func problem() async -> StaticString? {
        guard let keys = ring.current else { return "never_loaded" }
        guard keys.missing.isEmpty else { return "no_active_key" }
        return ring.hasBeenWhole ? nil : "published_key_not_loaded"
    }
}

/// The keys as metrics.
struct KeyReport: MetricSource {
    let ring: KeyRing

    var samples: [MetricSample] {
        [
            .gauge(
                "keys_not_loaded", "Keys in use, also published and retired ones, that could not be loaded here.",
                ring.current?.problems.count ?? 0)
        ]
    }
}

/// The key set of one identity provider can be used.
struct IdentityProviderCheck: ReadinessCheck {
    let keys: ProviderKeys
    var name: String { "identity_provider \(keys.issuer)" }

    func problem() async -> StaticString? { keys.isReady ? nil : "no_key_set" }
}
