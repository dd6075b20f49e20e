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

    private func look() throws(PortError) -> State {
        let seen = state.withLock { $0 }
        if let failure = seen.failure { throw failure }
        return seen
    }

    package func client(_ id: ClientID) throws(PortError) -> Client? { try look().clients[id] }

    package func credentials(of id: ClientID) throws(PortError) -> ClientCredentials {
        try look().credentials[id] ?? ClientCredentials.none
    }

    package func providers(of id: ClientID) throws(PortError) -> Set<Issuer> { try look().providers[id] ?? [] }

    package var allowedScopes: Scope {
        get throws(PortError) {
            let enabled = try look().clients.values.filter(\.isEnabled)
            return Scope(Set(enabled.flatMap(\.allowedScope.tokens)).sorted())
        }
    }

    package var suspendedProviders: Set<Issuer> {
        get throws(PortError) { try look().suspended }
    }

    package var scopesRequiringConsent: Scope {
        get throws(PortError) { try look().consent }
    }
}
