import PostgresClient
import Synchronization

/// Remembers why a connection to the database could not be made, for whoever waits for one.
final class ConnectionTrouble: Sendable {
    private let last = Mutex<String?>(nil)

    /// What libpq said the last time; `nil` where it said nothing.
    var message: String? { last.withLock(\.self) }

    func note(_ event: ConnectionEvent) {
        switch event {
        case .connectFailed(_, _, _, let message?): last.withLock { $0 = message }
        case .connectFailed, .connected, .disconnected: break
        }
    }
}
