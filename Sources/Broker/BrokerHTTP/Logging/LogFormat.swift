public import Logging

/// How the log looks.
public enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object per line, for machines.
    case json
    /// For a terminal.
    case text

    /// - Parameter now: The wall clock.
    public func handler(
        sink: LogSink, level: Logger.Level = .info, now: @escaping @Sendable () -> LogTime = LogTime.system
    ) -> any LogHandler {
        LineLogHandler(format: self, sink: sink, now: now, logLevel: level)
    }

    /// One event as it would be written, with its line end; metadata of the event alone.
    public func render(_ event: LogEvent, at time: LogTime = LogTime.system()) -> String {
        String(decoding: LogLine(self, event, event.metadata ?? [:], time).octets, as: UTF8.self)
    }
}

/// Renders each event as one line of ASCII.
struct LineLogHandler: LogHandler {
    let format: LogFormat
    let sink: LogSink
    let now: @Sendable () -> LogTime
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let time = now()
        var metadata = metadata
        if let own = event.metadata {
            metadata = metadata.isEmpty ? own : metadata.merging(own) { _, new in new }
        }
        let line = LogLine(format, event, metadata, time)
        sink.write(line.octets, isUrgent: event.level >= .error) { lost in
            LogLine(format, .error, "log lines lost", ["lines": .stringConvertible(lost)], time).octets
        }
    }
}
