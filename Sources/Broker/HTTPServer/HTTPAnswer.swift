import Glibc
import NIOCore
package import NIOHTTP1
import Synchronization

/// An answer before it is written. The connection adds framing, `Date` and the fields of every answer.
package struct HTTPAnswer: Sendable {
    package var status: HTTPResponseStatus
    package var contentType: String
    /// `no-store` unless the body is public.
    package var cacheControl: String
    /// Fields beyond those of every answer.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        status: HTTPResponseStatus, contentType: String = "application/json", cacheControl: String = "no-store",
        headers: [(name: String, value: String)] = [], body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.headers = headers
        self.body = body
    }

    /// All fields of the answer except the connection's own, in every version of HTTP.
    func forEachField(date: String, _ write: (_ name: String, _ value: String) -> Void) {
        if !body.isEmpty { write("Content-Type", contentType) }
        // RFC 9110 §8.6: a 204 has none, and a 304 none but that of the 200.
        if status != .noContent, status != .notModified { write("Content-Length", String(body.count)) }
        write("Cache-Control", cacheControl)
        if cacheControl == "no-store" { write("Pragma", "no-cache") }
        write("X-Content-Type-Options", "nosniff")
        write("Date", date)
        for (name, value) in headers { write(name, value) }
    }
}

extension HTTPAnswer {
    /// The answer as it is sent, RFC 9112 §4 to §6: head and body in one buffer, for one write and one system call.
    ///
    /// The broker sets every name and value, and none holds a line end. NIO's encoder is not used: it sends head, body
    /// and end one after the other through all handlers.
    /// - Parameters:
    ///   - hasBody: `false` for the answer to HEAD, whose fields are those of GET.
    ///   - isLast: The connection ends after it.
    func octets(date: String, hasBody: Bool, isLast: Bool) -> ByteBuffer {
        var octets: [UInt8] = []
        octets.reserveCapacity(Self.headCapacity + body.count)
        octets += "HTTP/1.1 ".utf8
        octets += String(status.code).utf8
        octets.append(UInt8(ascii: " "))
        octets += status.reasonPhrase.utf8
        octets.endLine()
        forEachField(date: date) { name, value in octets.appendField(name, value) }
        if isLast { octets.appendField("Connection", "close") }
        octets.endLine()
        if hasBody { octets += body }
        return ByteBuffer(bytes: octets)
    }

    /// Enough for the fields of every answer.
    private static let headCapacity = 512
}

// An array, because each write to a `ByteBuffer` costs twice as much.
extension [UInt8] {
    fileprivate mutating func appendField(_ name: String, _ value: String) {
        self += name.utf8
        append(UInt8(ascii: ":"))
        append(UInt8(ascii: " "))
        self += value.utf8
        endLine()
    }

    fileprivate mutating func endLine() {
        append(UInt8(ascii: "\r"))
        append(UInt8(ascii: "\n"))
    }
}

/// The `Date` of answers, formatted once a second. RFC 9110 §6.6.1.
package final class DateHeader: Sendable {
    private let clock: @Sendable () -> Int64
    private let cached = Mutex((seconds: Int64.min, text: ""))

    /// - Parameter clock: Gives the seconds since 1970.
    package init(clock: @escaping @Sendable () -> Int64) { self.clock = clock }

    var value: String {
        let seconds = clock()
        return cached.withLock { cached in
            if cached.seconds != seconds { cached = (seconds, Self.text(seconds)) }
            return cached.text
        }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. RFC 9110 §5.6.7. The process sets no locale, so names are English.
    private static func text(_ seconds: Int64) -> String {
        // The years 1 to 9999 have four digits.
        var (time, parts) = (time_t(min(max(seconds, -62_135_596_800), 253_402_300_799)), tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { text in
            guard let start = text.baseAddress else { return "" }
            let length = strftime(start, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
