@testable import HTTPServer
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@Suite("The connections of a listener", .timeLimit(.minutes(1)))
struct OpenConnectionsTests {
    private struct Silent: Responder {
        func answer(_ arrival: Arrival) async -> HTTPAnswer { HTTPAnswer(status: .ok, body: []) }
    }

    private let open = OpenConnections()

    /// - Parameter isActive: Whether the listener could begin it.
    private func connect(isActive: Bool = true) async throws -> NIOAsyncTestingChannel {
        let channel = NIOAsyncTestingChannel()
        if isActive { try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get() }
        let id = ObjectIdentifier(channel)
        open.add(
            Connection(
                channel: channel,
                RequestTasks(Silent(), on: EventLoopExecutor(channel.eventLoop)) { [open] in open.remove(id) }))
        return channel
    }

    @Test("A listener ends with its last connection and closes only those that come too late")
    func end() async throws {
        let (events, said) = AsyncStream.makeStream(of: String.self)
        let (active, unbegun) = (try await connect(), try await connect(isActive: false))
        // Runs until it waits.
        Task.immediate { [open] in
            await open.end()
            said.yield("ended")
        }
        try await unbegun.closeFuture.get()
        try await connect().closeFuture.get()
        #expect(active.isActive)
        said.yield("closing")
        try await active.close()
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "closing")
        #expect(await iterator.next() == "ended")
    }

    @Test("A cancelled listener closes all connections, also later ones")
    func cancelled() async throws {
        let first = try await connect()
        open.cancel()
        let second = try await connect()
        for channel in [first, second] { try await channel.closeFuture.get() }
        await open.end()
    }
}
