import Logging
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
