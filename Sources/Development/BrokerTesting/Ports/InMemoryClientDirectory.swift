package import NativeSSO
import Synchronization

/// Clients and scopes that a test puts there.
package final class InMemoryClientDirectory: ClientDirectory {
    private struct State {
        var clients: [ClientID: Client] = [:]
        var credentials: [ClientID: ClientCredentials] = [:]
        var providers: [ClientID: Set<Issuer>] = [:]
        var suspended: Set<Issuer> = []
        var consent: Scope
        var failure: PortError?
    }

    private let state: Mutex<State>

    package init(_ clients: [Client] = [], scopesRequiringConsent: Scope = .empty) {
        let byID = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        state = Mutex(State(clients: byID, consent: scopesRequiringConsent))
    }

    /// Adds a client, or replaces the one of that id.
    package func put(_ client: Client) {
        state.withLock { $0.clients[client.id] = client }
    }

    /// What a client proves itself with from now on.
    package func put(_ credentials: ClientCredentials, of client: ClientID) {
        state.withLock { $0.credentials[client] = credentials }
    }

    /// The identity providers of a client's groups from now on.
    package func put(_ providers: Set<Issuer>, of client: ClientID) {
        state.withLock { $0.providers[client] = providers }
    }

    /// The suspended identity providers from now on.
    package func suspend(_ providers: Set<Issuer>) {
        state.withLock { $0.suspended = providers }
    }

    package func setScopesRequiringConsent(_ scope: Scope) {
        state.withLock { $0.consent = scope }
    }

    /// What every further call throws; `nil`: they work again.
    package func fail(with failure: PortError?) {
        state.withLock { $0.failure = failure }
    }

    package func client(_ id: ClientID) throws(PortError) -> Client? {
        let (client, failure) = state.withLock { ($0.clients[id], $0.failure) }
        if let failure { throw failure }
        return client
    }

    package func credentials(of id: ClientID) throws(PortError) -> ClientCredentials {
        let (credentials, failure) = state.withLock { ($0.credentials[id], $0.failure) }
        if let failure { throw failure }
        return credentials ?? .none
    }

    package var allowedScopes: Scope {
        get throws(PortError) {
            let (clients, failure) = state.withLock { ($0.clients.values, $0.failure) }
            if let failure { throw failure }
            return Scope(Set(clients.filter(\.isEnabled).flatMap(\.allowedScope.tokens)).sorted())
        }
    }

    package func providers(of id: ClientID) throws(PortError) -> Set<Issuer> {
        let (providers, failure) = state.withLock { ($0.providers[id], $0.failure) }
        if let failure { throw failure }
        return providers ?? []
    }

    package var suspendedProviders: Set<Issuer> {
        get throws(PortError) {
            let (suspended, failure) = state.withLock { ($0.suspended, $0.failure) }
            if let failure { throw failure }
            return suspended
        }
    }

    package var scopesRequiringConsent: Scope {
        get throws(PortError) {
            let (scope, failure) = state.withLock { ($0.consent, $0.failure) }
            if let failure { throw failure }
            return scope
        }
    }
}
