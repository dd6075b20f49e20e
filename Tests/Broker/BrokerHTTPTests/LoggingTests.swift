@testable import BrokerHTTP
import Dispatch
import Logging
import StrictCoding
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Log lines")
struct LoggingTests {
    private static let time = LogTime(seconds: 784_111_777, microseconds: 42)

    private func render(_ format: LogFormat, _ message: String, _ metadata: Logger.Metadata) -> String {
        let event = LogEvent(
            level: .notice, message: "\(message)", error: nil, metadata: metadata, source: nil, file: "", function: "",
            line: 0)
        return format.render(event, at: Self.time)
    }

    @Test("JSON lines have time, level, message, then sorted fields; numbers stay numbers")
    func json() {
        #expect(
            render(.json, "token request", ["status": .stringConvertible(400), "client_id": "app", "ts": "x"])
                == #"{"ts":"1994-11-06T08:49:37.000042Z","level":"notice","msg":"token request","client_id":"app","#
                + #""status":400,"field_ts":"x"}"# + "\n")
    }

    @Test("Text lines are readable by people")
    func text() {
        #expect(
            render(.text, "token request", ["status": .stringConvertible(400), "reason": "two words", "x": ""])
                == "08:49:37.000042 NOTICE   token request reason=\"two words\" status=400 x=\"\"\n")
    }

    @Test("Any text becomes one ASCII line, and JSON restores it", arguments: LogFormat.allCases)
    func escaping(format: LogFormat) throws {
        let scalars =
            (0...0x2FF).compactMap(Unicode.Scalar.init) + ["\u{2028}", "\u{2029}", "\u{202E}", "\u{1F600}", "\u{FEFF}"]
        let nasty = scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
        let line = render(
            format, nasty, [nasty: .string(nasty), "a": .array(["\n"]), "b": .dictionary(["\r": "\u{0}"])])
        #expect(line.utf8.filter { $0 == 0x0A }.count == 1)
        #expect(line.utf8.dropLast().allSatisfy { (0x20...0x7E).contains($0) })
        if format == .json {
            let object = try #require(try JSONReader.parse(Array(line.utf8)).object)
            #expect(object.string("msg").map { Array($0.utf8) } == Array(nasty.utf8))
        }
    }

    @Test(
        "Instants",
        arguments: [
            (0, "1970-01-01T00:00:00"), (784_111_777, "1994-11-06T08:49:37"), (951_782_400, "2000-02-29T00:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"), (2_147_483_648, "2038-01-19T03:14:08"),
            (-1, "1969-12-31T23:59:59"), (253_402_300_799, "9999-12-31T23:59:59"),
            (Int64.max, "9999-12-31T23:59:59"), (Int64.min, "0001-01-01T00:00:00"),
        ] as [(Int64, String)])
    func instants(seconds: Int64, date: String) {
        var line: [UInt8] = []
        LogTime(seconds: seconds, microseconds: 7).append(to: &line)
        #expect(String(decoding: line, as: UTF8.self) == date + ".000007Z")
    }

    @Test("A sink writes everything in order")
    func sink() throws {
        let pipe = try Pipe()
        let sink = LogSink(fileDescriptor: pipe.writeEnd)
        var logger = Logger(label: "x") { _ in LogFormat.text.handler(sink: sink, now: { Self.time }) }
        logger[metadataKey: "a"] = "b"
        for index in 0..<100 { logger.info("line \(index)") }
        logger.debug("not this")
        sink.flush()
        #expect(pipe.read() == (0..<100).map { "08:49:37.000042 INFO     line \($0) a=b\n" }.joined())
        #expect(sink.droppedLines == 0)
    }

    @Test("A stuck reader loses lines without delay; the loss is counted and reported")
    func stuck() throws {
        let pipe = try Pipe()
        let sink = LogSink(fileDescriptor: pipe.writeEnd, capacity: 10_000)
        let logger = Logger(label: "x") { _ in LogFormat.json.handler(sink: sink, now: { Self.time }) }
        let long = String(repeating: "x", count: 5000)
        // Without a reader the pipe takes 64 KiB and the buffer 10,000 octets. The rest is lost, and no call blocks.
        for _ in 0..<100 { logger.info("\(long)") }
        #expect(sink.droppedLines > 50)
        var text = pipe.drain(until: sink)
        logger.info("again")
        sink.flush()
        text += pipe.read()
        let told = text.split(separator: "\n").compactMap { try? JSONReader.parse(Array($0.utf8)).object }
            .filter { $0.string("msg") == "log lines lost" }.compactMap { $0.number("lines")?.int64 }
        #expect(told.reduce(0, +) == Int64(sink.droppedLines))
        #expect(text.hasSuffix(#""msg":"again"}"# + "\n"))
    }

    @Test("A full disk loses lines, which are counted, and reported once when it takes lines again")
    func fullDisk() throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        let sink = LogSink(fileDescriptor: full)
        let logger = Logger(label: "x") { _ in LogFormat.text.handler(sink: sink, now: { Self.time }) }
        for index in 0..<3 {
            logger.info("lost \(index)")
            sink.flush()
        }
        #expect(sink.droppedLines == 3)
        let pipe = try Pipe()
        try #require(dup2(pipe.writeEnd, full) == full)
        for _ in 0..<2 {
            logger.info("again")
            sink.flush()
        }
        #expect(
            pipe.read() == """
                08:49:37.000042 INFO     again
                08:49:37.000042 ERROR    log lines lost lines=3
                08:49:37.000042 INFO     again

                """)
        #expect(sink.droppedLines == 3)
    }
}

/// A pipe whose read end does not block.
private final class Pipe: Sendable {
    let readEnd: Int32
    let writeEnd: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        readEnd = ends[0]
        writeEnd = ends[1]
        _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// The octets that are there now.
    func read() -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(readEnd, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }

    /// Reads until the sink has written all its lines.
    func drain(until sink: LogSink) -> String {
        let flushed = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            sink.flush()
            flushed.signal()
        }
        var text = ""
        while flushed.wait(timeout: .now()) == .timedOut { text += read() }
        return text + read()
    }
}
