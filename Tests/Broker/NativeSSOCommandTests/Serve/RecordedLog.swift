import Logging
import Synchronization

/// A log that remembers what it was told.
final class RecordedLog: Sendable {
    private let recorded = Mutex<[String]>([])

    /// `level message key=value …`, the keys in order.
    var lines: [String] { recorded.withLock(\.self) }

    var logger: Logger { Logger(label: "test") { [self] _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            log.recorded.withLock { $0.append("\(event.level) \(event.message)" + details.joined()) }
        }
    }
}
