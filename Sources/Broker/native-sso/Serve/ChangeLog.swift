import Logging
import PostgresClient
import Synchronization

/// Logs a problem when it starts, changes or ends, not at each check.
final class ChangeLog: Sendable {
    private let problem = Mutex<String?>(nil)
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameter new: The current problem; `nil`: none.
    func note(_ new: String?, level: Logger.Level = .warning, _ message: Logger.Message) {
        let old = problem.withLock { exchange(&$0, with: new) }
        guard old != new else { return }
        if let new {
            logger.log(level: level, message, metadata: ["problem": .string(new)])
        } else {
            logger.notice("over: \(message)")
        }
    }
}

/// Logs database connection events; shared by all clients of the database.
///
/// Clients retry many times a second. A failure is logged when it starts, when its kind changes, and then once a
/// minute until a connection to the server succeeds.
final class ConnectionLog: Sendable {
    private static let interval: Duration = .seconds(60)
    private static let remedy =
        "the database has lost writes that it confirmed; bring back the one that has them, or let an administrator type: "
        + "native-sso database accept --sessions end --reason TEXT"

    private struct Failure: Hashable {
        let server: String
        let reason: PostgresError.Reason
        let state: SQLState?
    }

    private let logger: Logger
    /// When each failure was last logged. Pool and lanes may fail in different ways at the same time.
    private let said = Mutex<[Failure: ContinuousClock.Instant]>([:])

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameter now: A monotonic time.
    func note(_ event: ConnectionEvent, at now: ContinuousClock.Instant = .now) {
        switch event {
        case .connected(let server):
            said.withLock { said in said = said.filter { $0.key.server != server } }
            logger.info("database connected", metadata: ["server": .string(server)])
        case .connectFailed(let server, let reason, let state, let message):
            guard isToBeSaid(Failure(server: server, reason: reason, state: state), at: now) else { return }
            var metadata: Logger.Metadata = [
                "server": .string(server), "reason": .string(reason.rawValue),
                "sqlstate": .string(state.map { "\($0)" } ?? "none"),
            ]
            if let message { metadata["message"] = .string(message) }
            if reason == .databaseWentBackwards { metadata["remedy"] = .string(Self.remedy) }
            logger.warning("database connection failed", metadata: metadata)
        case .disconnected(let server):
            logger.warning("database connection lost", metadata: ["server": .string(server)])
        }
    }

    private func isToBeSaid(_ failure: Failure, at now: ContinuousClock.Instant) -> Bool {
        said.withLock { said in
            // Drops entries older than a minute, so this stays small.
            said = said.filter { now - $0.value < Self.interval }
            guard said[failure] == nil else { return false }
            said[failure] = now
            return true
        }
    }
}
