@testable import BrokerHTTP
@testable import HTTPServer
import NIOCore
import NIOHTTP1

/// Answers a request with its body, and a fault with 400. Touched by one thread alone, the one that fuzzes.
final class EchoResponder: Responder, @unchecked Sendable {
    /// All that has come, as text.
    private(set) var arrivals: [String] = []
    /// Requests that are not answered yet.
    private(set) var waiting = 0

    private var waits: Bool
    private var continuations: [CheckedContinuation<Void, Never>] = []

    /// - Parameter waits: Whether the answers wait for ``stopWaiting()``.
    init(waits: Bool = false) { self.waits = waits }

    func stopWaiting() {
        waits = false
        for continuation in continuations { continuation.resume() }
        continuations = []
    }

    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        arrivals.append(Readers.text(of: arrival))
        guard case .request(let request) = arrival else {
            await pause()
            return HTTPAnswer(status: .badRequest, body: Array("{}".utf8))
        }
        waiting += 1
        await pause()
        waiting -= 1
        return HTTPAnswer(status: .ok, body: Array(request.body.readableBytesView))
    }

    private func pause() async {
        if waits { await withCheckedContinuation { continuations.append($0) } }
    }
}
