import NIOHTTP1

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
