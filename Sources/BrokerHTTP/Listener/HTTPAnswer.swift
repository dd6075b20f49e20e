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
}

/// Answers what arrives at a listener. There is no failing: whatever happens becomes an answer.
protocol Responder: Sendable {
    func answer(_ arrival: Arrival) async -> HTTPAnswer
}
