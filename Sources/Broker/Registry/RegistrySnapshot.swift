package import NativeSSO
package import PostgresClient
import Synchronization

/// An in-memory copy of clients, their credentials and identity providers, suspensions, and scopes. Each reload replaces
/// it as a whole.
///
/// It identifies and authenticates clients without a round trip. During a database outage the last copy stays in use for
/// ``longestAge``. Before the first load, and when the copy is older, a look-up is an outage, not an unknown client. So
/// is a look-up that needs a row that this version cannot read.
package final class RegistrySnapshot: ClientDirectory {
    /// A look-up takes a reference, and copies nothing.
    private final class Contents: Sendable {
        let clients: NamedRows<ClientID, Client>
        let secrets: NamedRows<ClientID, RegisteredSecret>
        let keys: NamedRows<ClientID, RegisteredClientKey>
        let providers: NamedRows<ClientID, Issuer>
        let allowedScopes: Scope
        let suspendedProviders: Result<Set<Issuer>, PortError>
        let scopesRequiringConsent: Result<Scope, PortError>
        let unreadableRows: [String]
        /// When the reading began.
        let readAt: Duration

        init(
            clients: NamedRows<ClientID, Client>, secrets: NamedRows<ClientID, RegisteredSecret>,
            keys: NamedRows<ClientID, RegisteredClientKey>, providers: NamedRows<ClientID, Issuer>,
            suspended: NamedRows<Issuer, Void>, consent: NamedRows<String, Void>, readAt: Duration
        ) {
            (self.clients, self.secrets, self.keys, self.providers) = (clients, secrets, keys, providers)
            allowedScopes = clients.readable.allowedScopes
            suspendedProviders = Result { () throws(PortError) in Set(try suspended.names()) }
            scopesRequiringConsent = Result { () throws(PortError) in Scope(try consent.names()) }
            let defects = [
                clients.defects, secrets.defects, keys.defects, providers.defects, suspended.defects, consent.defects,
            ]
            unreadableRows = defects.joined().sorted()
            self.readAt = readAt
        }
    }

    /// How old a copy may be that answers. An operator's change reaches every broker that answers within this time.
    package static let longestAge: Duration = .seconds(60)

    private let contents = Mutex<Contents?>(nil)
    private let database: any StatementExecutor
    private let time: ElapsedTime

    package init<C: Clock>(
        database: any StatementExecutor, clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        self.database = database
        time = ElapsedTime(by: clock)
    }

    package func client(_ id: ClientID) throws(PortError) -> Client? { try loaded().clients.of(id).first }

    package func credentials(of id: ClientID) throws(PortError) -> ClientCredentials {
        let copy = try loaded()
        return ClientCredentials(
            secrets: try copy.secrets.of(id).map(\.digest), keys: try copy.keys.of(id).map(\.key))
    }

    /// Of the last copy, whatever its age, without the clients that cannot be read.
    package var allowedScopes: Scope { get throws(PortError) { try last().allowedScopes } }

    package func providers(of id: ClientID) throws(PortError) -> Set<Issuer> {
        Set(try loaded().providers.of(id))
    }

    package var suspendedProviders: Set<Issuer> {
        get throws(PortError) { try loaded().suspendedProviders.get() }
    }

    package var scopesRequiringConsent: Scope {
        get throws(PortError) { try loaded().scopesRequiringConsent.get() }
    }

    /// Whether the copy answers.
    package var isUsable: Bool { isLoaded && age <= Self.longestAge }

    /// Whether a load has ever succeeded.
    package var isLoaded: Bool { contents.withLock { $0 != nil } }

    /// The time since the last good load began, or since the start if there was none.
    package var age: Duration { time.now - (contents.withLock { $0?.readAt } ?? .zero) }

    /// The rows that cannot be read: table, name and column. For the log.
    package var unreadableRows: [String] { contents.withLock { $0?.unreadableRows } ?? [] }

    /// The suspended identity providers of the last copy, whatever its age. For the metrics.
    package var lastSuspendedProviders: Set<Issuer> { (try? last().suspendedProviders.get()) ?? [] }

    /// Reads everything again and replaces the copy atomically. A row that cannot be read does not keep back the others.
    package func reload() async throws(PortError) {
        let readAt = time.now
        let clients = try await database.named(
            ClientStatements.all, of: "client", by: ClientStatements.id, ClientStatements.client)
        let secrets = try await database.named(
            CredentialStatements.secrets, of: "client_secret", by: ClientStatements.id, CredentialStatements.secret)
        let keys = try await database.named(
            CredentialStatements.keys, of: "client_key", by: ClientStatements.id, CredentialStatements.key)
        let providers = try await database.named(
            ClientStatements.providers, of: "sharing_group_member", by: ClientStatements.id, ClientStatements.provider)
        // The row alone suspends, whatever its other columns hold.
        let suspended = try await database.named(
            SuspensionStatements.select, of: "suspended_provider", by: SuspensionStatements.issuer
        ) { _ in }
        let consent = try await database.named(
            ClientStatements.scopesRequiringConsent, of: "scope", by: ClientStatements.scope
        ) { _ in }
        let fresh = Contents(
            clients: clients, secrets: secrets, keys: keys, providers: providers, suspended: suspended,
            consent: consent,
            readAt: readAt)
        contents.withLock { $0 = fresh }
    }

    private func last() throws(PortError) -> Contents {
        guard let contents = contents.withLock({ $0 }) else {
            throw .outage(Outage(.database, "clients were never loaded"))
        }
        return contents
    }

    private func loaded() throws(PortError) -> Contents {
        let copy = try last()
        guard time.now - copy.readAt <= Self.longestAge else {
            throw .outage(Outage(.database, "the copy of the registry is too old"))
        }
        return copy
    }
}

extension [Client] {
    /// The scopes that an enabled client may get.
    package var allowedScopes: Scope { Scope(Set(filter(\.isEnabled).flatMap(\.allowedScope.tokens)).sorted()) }
}
