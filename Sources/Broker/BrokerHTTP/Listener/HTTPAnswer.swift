import NIOCore
import NIOHTTP1
import NativeSSO
import Synchronization

/// An answer before it is written. Framing, `Date` and the fields that every answer carries are added by the connection.
struct HTTPAnswer: Sendable {
    var status: HTTPResponseStatus
    var contentType = "application/json"
    /// `no-store` unless the body is public.
    var cacheControl = "no-store"
    /// Fields beyond those of every answer.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8]

    /// All fields of the answer but those of its connection, in every version of HTTP.
    func forEachField(date: String, _ write: (_ name: String, _ value: String) -> Void) {
        write("Content-Type", contentType)
        write("Content-Length", String(body.count))
        write("Cache-Control", cacheControl)
        if cacheControl == "no-store" { write("Pragma", "no-cache") }
        write("X-Content-Type-Options", "nosniff")
        write("Date", date)
        for (name, value) in headers { write(name, value) }
    }
}

/// Answers what arrives at a listener. There is no failing: whatever happens becomes an answer.
protocol Responder: Sendable {
    func answer(_ arrival: Arrival) async -> HTTPAnswer
}

extension HTTPAnswer {
    /// The answer as it travels, RFC 9112 §4 to §6: head and body in one buffer, for one write and one system call.
    ///
    /// Every name and value is ours and none holds a line end. Written here rather than by NIO's encoder, which sends head,
    /// body and end one after the other through all handlers.
    /// - Parameters:
    ///   - hasBody: `false` for the answer to HEAD, whose fields are those of GET.
    ///   - isLast: The connection ends after it.
    func octets(date: String, hasBody: Bool, isLast: Bool) -> ByteBuffer {
        var octets = ByteBuffer()
        octets.reserveCapacity(Self.headCapacity + body.count)
        octets.writeStaticString("HTTP/1.1 ")
        octets.writeString(String(status.code))
        octets.writeStaticString(" ")
        octets.writeString(status.reasonPhrase)
        octets.writeStaticString("\r\n")
        forEachField(date: date) { name, value in octets.writeField(name, value) }
        if isLast { octets.writeField("Connection", "close") }
        octets.writeStaticString("\r\n")
        if hasBody { octets.writeBytes(body) }
        return octets
    }

    /// Enough for the fields of every answer.
    private static let headCapacity = 512
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}

/// The `Date` of answers, written once a second. RFC 9110 §6.6.1.
final class DateHeader: Sendable {
    private let clock: any WallClock
    private let cached = Mutex((seconds: Int64.min, text: ""))

    init(clock: any WallClock) { self.clock = clock }

    var value: String {
        let seconds = clock.milliseconds / 1000
        return cached.withLock { cached in
            if cached.seconds != seconds { cached = (seconds, CivilTime(seconds: seconds).httpDate) }
            return cached.text
        }
    }
}
