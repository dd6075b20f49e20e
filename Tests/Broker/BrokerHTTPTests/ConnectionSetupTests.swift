@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@Suite("Accepted connections that fail to start", .timeLimit(.minutes(1)))
struct ConnectionSetupTests {
    private struct Greeting: Responder {
        func answer(_ arrival: Arrival) async -> HTTPAnswer { HTTPAnswer(status: .ok, body: []) }
    }

    @Test("The connection is closed and uncounted, and the listener continues")
    func failure() async throws {
        let (counts, open, group) = (ConnectionCounts(), OpenConnections(), MultiThreadedEventLoopGroup.singleton)
        let limits = ListenerLimits()
        let connections = HTTPConnections(
            responder: Greeting(), executors: EventLoopExecutors(group), open: open, limits: limits, proxies: .none,
            identity: nil, admitsHandshake: { _ in true }, date: DateHeader { 0 },
            quota: ConnectionQuota(limits: limits, proxies: .none, counts: counts))
        let isFirst = Atomic(true)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                // Refuses every option, like one whose socket is already gone.
                let isUnwilling = isFirst.exchange(false, ordering: .relaxed)
                return connections.setup(channel: isUnwilling ? Unwilling(channel) : channel)
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        try await RawClient.connect(to: port) { client async throws in
            #expect(await client.octets() == nil)
            // The end of the test ends the wait, too.
            try Task.checkCancellation()
        }
        try await RawClient.connect(to: port) { client async throws in
            try await client.send(Requests.get("/"))
            #expect(try await client.answer()?.status == 200)
            while number(in: counts) != 1 { await Task.yield() }
        }
        try await listener.close()
        await open.end()
        while number(in: counts) != 0 { await Task.yield() }
    }

    private func number(in counts: ConnectionCounts) -> Double? {
        counts.samples.first { "\($0.name)" == "connections" }?.value
    }
}

/// A channel that refuses every option.
private final class Unwilling: Channel {
    private struct Options: NIOSynchronousChannelOptions {
        func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
            throw ChannelError.ioOnClosedChannel
        }

        func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
            throw ChannelError.ioOnClosedChannel
        }
    }

    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    var allocator: ByteBufferAllocator { channel.allocator }
    var closeFuture: EventLoopFuture<Void> { channel.closeFuture }
    var pipeline: ChannelPipeline { channel.pipeline }
    var localAddress: SocketAddress? { channel.localAddress }
    var remoteAddress: SocketAddress? { channel.remoteAddress }
    var parent: (any Channel)? { channel.parent }
    var isWritable: Bool { channel.isWritable }
    var isActive: Bool { channel.isActive }
    var _channelCore: any ChannelCore { channel._channelCore }
    var eventLoop: any EventLoop { channel.eventLoop }
    var syncOptions: (any NIOSynchronousChannelOptions)? { Options() }

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        channel.setOption(option, value: value)
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        channel.getOption(option)
    }
}
