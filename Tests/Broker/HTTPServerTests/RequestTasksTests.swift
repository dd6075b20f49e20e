@testable import HTTPServer
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@Suite("The requests of a connection", .timeLimit(.minutes(1)))
struct RequestTasksTests {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    /// Answers after its wait, and reports whether it was cancelled.
    private struct Patient: Responder {
        let wait: @Sendable () async -> Void
        let said: AsyncStream<String>.Continuation

        func answer(_ arrival: Arrival) async -> HTTPAnswer {
            await wait()
            said.yield(Task.isCancelled ? "cancelled" : "answered")
            return HTTPAnswer(status: .ok, body: [])
        }
    }

    /// Runs requests and reports how each ends, and the end of the connection.
    private func withRequests(
        waiting wait: @escaping @Sendable () async -> Void = {},
        _ body: (RequestTasks, inout AsyncStream<String>.AsyncIterator) async throws -> Void
    ) async throws {
        let (events, said) = AsyncStream.makeStream(of: String.self)
        let requests = RequestTasks(Patient(wait: wait, said: said), on: EventLoopExecutor(eventLoop)) {
            said.yield("ended")
        }
        var iterator = events.makeAsyncIterator()
        try await body(requests, &iterator)
    }

    private func begin(_ requests: RequestTasks) async throws {
        try await eventLoop.submit { requests.begin(.fault(.malformed, from: nil), on: nil) }.get()
    }

    @Test("A request in progress ends normally after its connection closes")
    func goesOn() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        try await withRequests(waiting: { for await _ in gate {} }) { requests, events in
            try await begin(requests)
            try await begin(requests)
            requests.connectionClosed()
            open.finish()
            #expect(await events.next() == "answered")
            #expect(await events.next() == "answered")
            #expect(await events.next() == "ended")
        }
    }

    @Test("Cancelling cancels all requests, also later ones")
    func cancelled() async throws {
        // Nothing but a cancellation ends this wait in time.
        try await withRequests(waiting: { try? await Task.sleep(for: .seconds(3600)) }) { requests, events in
            try await begin(requests)
            requests.cancel()
            #expect(await events.next() == "cancelled")
            try await begin(requests)
            #expect(await events.next() == "cancelled")
            requests.connectionClosed()
            #expect(await events.next() == "ended")
        }
    }

    @Test("A connection without requests ends when it closes")
    func silent() async throws {
        try await withRequests { requests, events in
            requests.connectionClosed()
            #expect(await events.next() == "ended")
        }
    }

    @Test("Requests after the end are answered and do not end it again")
    func late() async throws {
        try await withRequests { requests, events in
            requests.connectionClosed()
            try await begin(requests)
            try await begin(requests)
            #expect(await events.next() == "ended")
            #expect(await events.next() == "answered")
            #expect(await events.next() == "answered")
        }
    }
}
