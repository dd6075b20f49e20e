package import NativeSSO
package import PostgresClient
import Synchronization

/// An in-memory copy of clients, their credentials, and scopes. Each reload replaces it as a whole.
///
/// It identifies and authenticates clients without a round trip. During a database outage the last copy stays in use.
/// Before the first load, a look-up is an outage, not an unknown client.
package final class RegistrySnapshot: ClientDirectory {
    private struct Contents {
        let clients: [ClientID: Client]
        let credentials: [ClientID: ClientCredentials]
        let allowedScopes: Scope
        let providers: [ClientID: Set<Issuer>]
        let suspendedProviders: Set<Issuer>
        let scopesRequiringConsent: Scope
    }

    private let contents = Mutex<Contents?>(nil)
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) { self.database = database }

    package func client(_ id: ClientID) throws(PortError) -> Client? { try loaded().clients[id] }

    package func credentials(of id: ClientID) throws(PortError) -> ClientCredentials {
        try loaded().credentials[id] ?? .none
    }

    package var allowedScopes: Scope { get throws(PortError) { try loaded().allowedScopes } }

    package func providers(of id: ClientID) throws(PortError) -> Set<Issuer> { try loaded().providers[id] ?? [] }

    package var suspendedProviders: Set<Issuer> { get throws(PortError) { try loaded().suspendedProviders } }

    package var scopesRequiringConsent: Scope { get throws(PortError) { try loaded().scopesRequiringConsent } }

    /// Whether a load has ever succeeded.
    package var isLoaded: Bool { contents.withLock { $0 != nil } }

    /// Reads everything again and replaces the copy atomically.
    package func reload() async throws(PortError) {
        let clients = try await database.all(ClientStatements.all, [], of: "the registry", ClientStatements.client)
        let secrets = try await database.all(
            CredentialStatements.secrets, [], of: "the registry", CredentialStatements.secret)
        let keys = try await database.all(CredentialStatements.keys, [], of: "the registry", CredentialStatements.key)
        let places = try await database.all(ClientStatements.providers, [], of: "the registry", ClientStatements.place)
        let suspended = try await database.all(
            SuspensionStatements.select, [], of: "the registry", ProviderSuspension.init)
        let consent = try await database.all(
            ClientStatements.scopesRequiringConsent, [], of: "the registry"
        ) { try $0.text(0) }
        let fresh = Contents(
            clients: Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }),
            credentials: Self.credentials(secrets, keys),
            allowedScopes: clients.allowedScopes,
            providers: Dictionary(grouping: places, by: \.client).mapValues { Set($0.map(\.provider)) },
            suspendedProviders: Set(suspended.map(\.issuer)),
            scopesRequiringConsent: Scope(consent))
        contents.withLock { $0 = fresh }
    }

    private static func credentials(
        _ secrets: [RegisteredSecret], _ keys: [RegisteredClientKey]
    ) -> [ClientID: ClientCredentials] {
        let (secrets, keys) = (Dictionary(grouping: secrets, by: \.client), Dictionary(grouping: keys, by: \.client))
        return Dictionary(
            Set(secrets.keys).union(keys.keys).map { id in
                let (secrets, keys) = (secrets[id] ?? [], keys[id] ?? [])
                return (id, ClientCredentials(secrets: secrets.map(\.digest), keys: keys.map(\.key)))
            }, uniquingKeysWith: { first, _ in first })
    }

    private func loaded() throws(PortError) -> Contents {
        guard let contents = contents.withLock({ $0 }) else {
            throw .outage(Outage(.database, "clients were never loaded"))
        }
        return contents
    }
}

extension [Client] {
    /// The scopes that an enabled client may get.
    package var allowedScopes: Scope { Scope(Set(filter(\.isEnabled).flatMap(\.allowedScope.tokens)).sorted()) }
}
