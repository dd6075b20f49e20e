import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The connections of one listener, for Hummingbird's server, which accepts them and stops them gracefully.
///
/// Not Hummingbird's own HTTP/1 channel: that one answers a malformed request with a bare 400, turns an absolute target into
/// a path, forgets how many `Host` fields there were, and knows no limit of time but idleness.
struct HTTP1Connections: ServerChildChannel {
    let responder: any Responder
    let limits: ListenerLimits
    let proxies: TrustedProxies
    let date: DateHeader

    /// An exchange fits in one read.
    private static let readSize = 8 * 1024

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
            let framing = BodyFraming()
            let arrivals = Mailbox<Arrival>()
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(
                FramingHandler(framing: framing, maximumExtensionOctets: limits.chunkExtensionSize))
            try pipeline.addHandler(ByteToMessageHandler(decoder()))
            try pipeline.addHandler(ReadDeadlineHandler(limits: limits, framing: framing))
            try pipeline.addHandler(WriteDeadlineHandler(limit: limits.writeTimeout))
            try pipeline.addHandler(
                ConnectionHandler(
                    limits: limits,
                    origin: RequestOrigin(peer: channel.remoteAddress.flatMap(NetworkAddress.init), proxies: proxies),
                    framing: framing, date: date, arrivals: arrivals))
            return Connection(channel: channel, arrivals: arrivals)
        }
    }

    private func decoder() -> HTTPRequestDecoder {
        var limit = NIOHTTPDecoderLimitConfiguration()
        limit.maxHeaderFieldSize = limits.headerSize
        limit.maxHeaderListSize = limits.headerSize
        limit.maxHeaderFieldCount = limits.headerFields
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limit)
    }

    /// Returns when the connection is closed. A request that is being answered goes on to its end even if its client has
    /// gone; only the end of the listener's patience with a stop cancels it.
    func handle(value connection: Connection, logger: Logger) async {
        await withTaskCancellationHandler {
            await withTaskExecutorPreference(EventLoopExecutor(connection.channel.eventLoop)) {
                while let arrival = await connection.arrivals.next() {
                    connection.channel.writeAndFlush(await responder.answer(arrival), promise: nil)
                }
            }
        } onCancel: {
            connection.channel.close(promise: nil)
        }
    }
}

/// An accepted connection. It is closed at the latest when nobody holds it any more.
final class Connection: ServerChildChannelValue {
    let channel: any Channel
    let arrivals: Mailbox<Arrival>

    init(channel: any Channel, arrivals: Mailbox<Arrival>) {
        self.channel = channel
        self.arrivals = arrivals
    }

    deinit { channel.close(promise: nil) }
}
