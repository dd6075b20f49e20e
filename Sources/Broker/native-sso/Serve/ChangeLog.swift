import Logging
import PostgresClient
import Synchronization

/// Says in the log that something went wrong when it begins and when it is over, not each time it is looked at.
final class ChangeLog: Sendable {
    private let problem = Mutex<String?>(nil)
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// - Parameter new: `nil`: all is well.
    func note(_ new: String?, level: Logger.Level = .warning, _ message: Logger.Message) {
        let old = problem.withLock { problem in
            defer { problem = new }
            return problem
        }
        guard old != new else { return }
        if let new {
            logger.log(level: level, message, metadata: ["problem": .string(new)])
        } else {
            logger.notice("over: \(message)")
        }
    }
}

/// Connections to the database that come and go, in the log: one for all that connect.
///
/// Whoever has no connection tries again many times a second. That a server fails is said when it begins, whenever it fails
/// in another way, and then once a minute, until there is a connection to it.
final class ConnectionLog: Sendable {
    private static let interval: Duration = .seconds(60)

    private struct Failure: Hashable {
        let server: String
        let reason: PostgresError.Reason
        let state: SQLState?
    }

    private let logger: Logger
    /// When each was said last. Pool and lanes may fail in two ways at the same time.
    private let said = Mutex<[Failure: ContinuousClock.Instant]>([:])

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// - Parameter now: On a clock that never jumps.
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
            logger.warning("database connection failed", metadata: metadata)
        case .disconnected(let server):
            logger.warning("database connection lost", metadata: ["server": .string(server)])
        }
    }

    private func isToBeSaid(_ failure: Failure, at now: ContinuousClock.Instant) -> Bool {
        said.withLock { said in
            // What is left out was said within the minute, so this stays small.
            said = said.filter { now - $0.value < Self.interval }
            guard said[failure] == nil else { return false }
            said[failure] = now
            return true
        }
    }
}
