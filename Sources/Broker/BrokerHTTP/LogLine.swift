package import Logging
import StrictCoding

/// A field of a log line. Whole numbers stay numbers in JSON.
enum LogField: Sendable {
    case text(String)
    case number(Int)

    fileprivate init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .stringConvertible(let number as Int): self = .number(number)
        default: self = .text(value.description)
        }
    }

    fileprivate var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): String(number)
        }
    }
}

/// Fields in the order of their names, for the line of every request: as an event's only metadata they need neither a
/// large dictionary nor sorting.
struct LogFields: Sendable, CustomStringConvertible {
    let fields: [(name: String, value: LogField)]

    var metadata: Logger.Metadata { ["fields": .stringConvertible(self)] }
    var description: String { fields.map { "\($0.name)=\($0.value.text)" }.joined(separator: " ") }

    static func of(_ metadata: Logger.Metadata) -> [(name: String, value: LogField)] {
        if metadata.count == 1, case .stringConvertible(let own as LogFields)? = metadata.first?.value {
            return own.fields
        }
        let fields = metadata.flatMap { name, value -> [(name: String, value: LogField)] in
            if case .stringConvertible(let own as LogFields) = value { own.fields } else { [(name, LogField(value))] }
        }
        return fields.sorted { $0.name < $1.name }
    }
}

/// One event as one line of ASCII, line end included.
struct LogLine {
    private(set) var octets: [UInt8] = []

    init(_ format: LogFormat, _ event: LogEvent, _ metadata: Logger.Metadata, _ time: LogTime) {
        var metadata = metadata
        if let error = event.error { metadata["error"] = .string(String(describing: error)) }
        self.init(format, event.level, event.message.description, LogFields.of(metadata), time)
    }

    init(
        _ format: LogFormat, _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: LogField)],
        _ time: LogTime
    ) {
        octets.reserveCapacity(384)
        switch format {
        case .json: appendJSON(level, message, fields, time)
        case .text: appendText(level, message, fields, time)
        }
        octets.append(UInt8(ascii: "\n"))
    }

    private mutating func appendJSON(
        _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: LogField)], _ time: LogTime
    ) {
        octets.append(contentsOf: "{\"ts\":\"".utf8)
        time.append(to: &octets)
        octets.append(contentsOf: "\",\"level\":\"".utf8)
        octets.append(contentsOf: level.rawValue.utf8)
        octets.append(contentsOf: "\",\"msg\":".utf8)
        LogText.appendJSON(message, to: &octets)
        for (name, value) in fields {
            octets.append(UInt8(ascii: ","))
            // A field with one of the broker's own names gets a prefix: no object may hold a name twice.
            let isTaken = name == "ts" || name == "level" || name == "msg"
            LogText.appendJSON(isTaken ? "field_\(name)" : name, to: &octets)
            octets.append(UInt8(ascii: ":"))
            switch value {
            case .number(let number): octets.append(contentsOf: String(number).utf8)
            case .text(let text): LogText.appendJSON(text, to: &octets)
            }
        }
        octets.append(UInt8(ascii: "}"))
    }

    private mutating func appendText(
        _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: LogField)], _ time: LogTime
    ) {
        time.appendTimeOfDay(to: &octets)
        octets.append(UInt8(ascii: " "))
        octets.append(contentsOf: level.rawValue.uppercased().utf8)
        octets.append(contentsOf: String(repeating: " ", count: max(1, 9 - level.rawValue.utf8.count)).utf8)
        LogText.appendEscaped(message, to: &octets)
        for (name, value) in fields {
            octets.append(UInt8(ascii: " "))
            LogText.appendText(name, to: &octets)
            octets.append(UInt8(ascii: "="))
            LogText.appendText(value.text, to: &octets)
        }
    }
}

/// Text in a log line, always as ASCII. No control character, line or paragraph separator or direction override can
/// forge a second line or hide part of one.
enum LogText {
    /// A JSON string, quotes included. RFC 8259 §7.
    static func appendJSON(_ text: String, to line: inout [UInt8]) {
        line.append(quote)
        appendEscaped(text, to: &line)
        line.append(quote)
    }

    /// The inside of a JSON string.
    static func appendEscaped(_ text: String, to line: inout [UInt8]) {
        guard !line.append(plain: text, except: quote, backslash) else { return }
        for unit in text.utf16 {
            if (0x20...0x7E).contains(unit), unit != quote, unit != backslash {
                line.append(UInt8(unit))
            } else {
                line.append(contentsOf: "\\u".utf8)
                for shift in [12, 8, 4, 0] { line.append(Hexadecimal.digit(UInt8(unit >> shift & 0xF))) }
            }
        }
    }

    /// Unquoted if it cannot mislead a reader, otherwise quoted as in JSON.
    static func appendText(_ text: String, to line: inout [UInt8]) {
        if !text.isEmpty, text.isPrintableASCII(except: quote, backslash), !text.utf8.contains(UInt8(ascii: " ")) {
            line.append(contentsOf: text.utf8)
        } else {
            appendJSON(text, to: &line)
        }
    }

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
}

package enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object per line, for machines.
    case json
    /// For a terminal.
    case text

    /// - Parameter now: The wall clock.
    package func handler(
        sink: LogSink, level: Logger.Level = .info, now: @escaping @Sendable () -> LogTime = LogTime.system
    ) -> any LogHandler {
        sink.reportDrops { lost in
            LogLine(self, .error, "log lines lost", [("lines", .number(lost))], now()).octets
        }
        return LineLogHandler(format: self, sink: sink, now: now, logLevel: level)
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
        var metadata = metadata
        if let own = event.metadata {
            metadata = metadata.isEmpty ? own : metadata.merging(own) { _, new in new }
        }
        sink.write(LogLine(format, event, metadata, now()).octets, isUrgent: event.level >= .error)
    }
}
