import Logging
import PostgresClient
import Synchronization
import Testing

@testable import native_sso

struct ConnectionLogTests {
    private static let refused = failed(nil)
    private let log = RecordedLog()

    private static func failed(_ state: SQLState?, server: String = "a:5432") -> ConnectionEvent {
        .connectFailed(server: server, reason: .connectFailed, state: state, message: "Connection refused")
    }

    @Test func aFailureIsSaidWithItsWordsAndThenOnceAMinute() {
        let connections = ConnectionLog(log.logger)
        let began = ContinuousClock.now
        for tenth in 0..<1210 { connections.note(Self.refused, at: began + .milliseconds(100) * tenth) }
        #expect(
            log.lines
                == Array(
                    repeating: "warning database connection failed message=Connection refused "
                        + "reason=connect_failed server=a:5432 sqlstate=none", count: 3))
    }

    @Test func anotherServerAndAnotherAnswerAreSaidAtOnce() {
        let connections = ConnectionLog(log.logger)
        let now = ContinuousClock.now
        for event in [Self.refused, Self.failed(nil, server: "b:5432"), Self.failed(SQLState("57P03"))] {
            for _ in 0..<5 { connections.note(event, at: now) }
        }
        #expect(
            log.lines.map { $0.split(separator: " ").suffix(2).joined(separator: " ") } == [
                "server=a:5432 sqlstate=none", "server=b:5432 sqlstate=none", "server=a:5432 sqlstate=57P03",
            ])
    }

    @Test func aConnectionEndsIt() {
        let connections = ConnectionLog(log.logger)
        let now = ContinuousClock.now
        for event in [Self.refused, .connected(server: "a:5432"), .disconnected(server: "a:5432"), Self.refused] {
            connections.note(event, at: now)
        }
        #expect(
            log.lines.map { $0.split(separator: " ").prefix(4).joined(separator: " ") } == [
                "warning database connection failed", "info database connected server=a:5432",
                "warning database connection lost", "warning database connection failed",
            ])
    }
}

/// A log that keeps its lines.
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
