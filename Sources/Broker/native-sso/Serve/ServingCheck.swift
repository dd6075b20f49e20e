import BrokerHTTP
import HTTPServer
import KeyModule
import Logging
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
    private let changes: ChangeLog
    private let passed = Atomic(false)

    /// - Parameter issuer: Ours.
    init(registry: PostgresGrantRegistry, ring: KeyRing, issuer: Issuer, logger: Logger) {
        self.registry = registry
        self.ring = ring
        self.issuer = issuer
        changes = ChangeLog(logger)
    }

    func problem() async -> StaticString? {
        guard !passed.load(ordering: .relaxed) else { return nil }
        var reason: StaticString = "exchange_failed"
        do throws(PortError) {
            try await registry.exchangeNothing()
            reason = "refresh_failed"
            try await registry.refreshNothing()
            reason = "keys_failed"
            try await ring.tryKeys(of: issuer)
        } catch {
            changes.note("\(error)", Self.message)
            return reason
        }
        changes.note(nil, Self.message)
        passed.store(true, ordering: .relaxed)
        return nil
    }

    private static let message: Logger.Message = "requests cannot be served yet"
}
