import Logging

/// One event as one line of ASCII, line end included.
struct LogLine {
    private(set) var octets: [UInt8] = []

    init(_ format: LogFormat, _ event: LogEvent, _ metadata: Logger.Metadata, _ time: LogTime) {
        var metadata = metadata
        if let error = event.error { metadata["error"] = .string(String(describing: error)) }
        self.init(format, event.level, event.message.description, metadata, time)
    }

    init(
        _ format: LogFormat, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, _ time: LogTime
    ) {
        octets.reserveCapacity(384)
        let fields = metadata.sorted { $0.key < $1.key }
        switch format {
        case .json: appendJSON(level, message, fields, time)
        case .text: appendText(level, message, fields, time)
        }
        octets.append(UInt8(ascii: "\n"))
    }

    private mutating func appendJSON(
        _ level: Logger.Level, _ message: String, _ fields: [(key: String, value: Logger.MetadataValue)],
        _ time: LogTime
    ) {
        octets.append(contentsOf: "{\"ts\":\"".utf8)
        time.append(to: &octets)
        octets.append(contentsOf: "\",\"level\":\"".utf8)
        octets.append(contentsOf: level.rawValue.utf8)
        octets.append(contentsOf: "\",\"msg\":".utf8)
        LogText.appendJSON(message, to: &octets)
        for (name, value) in fields {
            octets.append(UInt8(ascii: ","))
            // A field that bears one of our names keeps its value under another: no object may hold a name twice.
            LogText.appendJSON(["ts", "level", "msg"].contains(name) ? "field_\(name)" : name, to: &octets)
            octets.append(UInt8(ascii: ":"))
            if let number = Self.number(value) {
                octets.append(contentsOf: String(number).utf8)
            } else {
                LogText.appendJSON(Self.text(value), to: &octets)
            }
        }
        octets.append(UInt8(ascii: "}"))
    }

    private mutating func appendText(
        _ level: Logger.Level, _ message: String, _ fields: [(key: String, value: Logger.MetadataValue)],
        _ time: LogTime
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
            LogText.appendText(Self.text(value), to: &octets)
        }
    }

    /// Whole numbers stay numbers in JSON.
    private static func number(_ value: Logger.MetadataValue) -> Int? {
        guard case .stringConvertible(let value) = value else { return nil }
        return value as? Int
    }

    private static func text(_ value: Logger.MetadataValue) -> String {
        if case .string(let text) = value { text } else { value.description }
    }
}
