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

/// Every use has an active key that is loaded.
struct KeyCheck: ReadinessCheck {
    let name = "key_module"
    let ring: KeyRing

    func problem() async -> StaticString? {
        guard let keys = ring.current else { return "never_loaded" }
        return keys.missing.isEmpty ? nil : "no_active_key"
    }
}

/// The key set of one identity provider can be used.
struct IdentityProviderCheck: ReadinessCheck {
    let keys: ProviderKeys
    var name: String { "identity_provider \(keys.issuer)" }

    func problem() async -> StaticString? { keys.isReady ? nil : "no_key_set" }
}
