public import NativeSSO
import Synchronization

/// Clients and scopes that a test puts there.
public final class InMemoryClientDirectory: ClientDirectory {
    private struct State {
        var clients: [ClientID: Client] = [:]
        var consent: Scope
        var failure: PortError?
    }

    private let state: Mutex<State>

    public init(_ clients: [Client] = [], scopesRequiringConsent: Scope = .empty) {
        let byID = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        state = Mutex(State(clients: byID, consent: scopesRequiringConsent))
    }

    /// Adds a client, or replaces the one of that id.
    public func put(_ client: Client) {
        state.withLock { $0.clients[client.id] = client }
    }

    public func setScopesRequiringConsent(_ scope: Scope) {
        state.withLock { $0.consent = scope }
    }

    /// What every further call throws; `nil`: they work again.
    public func fail(with failure: PortError?) {
        state.withLock { $0.failure = failure }
    }

    public func client(_ id: ClientID) throws(PortError) -> Client? {
        let (client, failure) = state.withLock { ($0.clients[id], $0.failure) }
        if let failure { throw failure }
        return client
    }

    public var scopesRequiringConsent: Scope {
        get throws(PortError) {
            let (scope, failure) = state.withLock { ($0.consent, $0.failure) }
            if let failure { throw failure }
            return scope
        }
    }
}
