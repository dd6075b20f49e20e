import BrokerHTTP
import HTTPServer
import KeyModule
import NativeSSO
import Registry
import Synchronization

/// Ready once what requests need has worked: the statements of exchange and refresh over the lanes, and every key in use.
///
/// The other checks look at the parts. A right that was taken from the service's role, say, shows only in the statements.
final class ServingCheck: ReadinessCheck {
    let name = "requests"
    let help: StaticString =
        """
        An exchange and a refresh of nothing were answered once, and every key in use has signed once: `exchange_failed`, \
        `refresh_failed`, `keys_failed`.
        """
    private let registry: PostgresGrantRegistry
    private let ring: KeyRing
    private let issuer: Issuer
    private let passed = Atomic(false)

    /// - Parameter issuer: Ours.
    init(registry: PostgresGrantRegistry, ring: KeyRing, issuer: Issuer) {
        self.registry = registry
        self.ring = ring
        self.issuer = issuer
    }

    func problem() async -> StaticString? {
        guard !passed.load(ordering: .relaxed) else { return nil }
        guard await works({ () async throws(PortError) in try await registry.exchangeNothing() }) else {
            return "exchange_failed"
        }
        guard await works({ () async throws(PortError) in try await registry.refreshNothing() }) else {
            return "refresh_failed"
        }
        guard await works({ () async throws(PortError) in try await ring.tryKeys(of: issuer) }) else {
            return "keys_failed"
        }
        passed.store(true, ordering: .relaxed)
        return nil
    }

    private func works(_ call: () async throws(PortError) -> Void) async -> Bool {
        do throws(PortError) {
            try await call()
            return true
        } catch {
            return false
        }
    }
}
