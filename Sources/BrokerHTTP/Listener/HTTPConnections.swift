import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// The connections of one listener, for Hummingbird's server, which accepts them and stops them gracefully.
///
/// Not Hummingbird's own HTTP channels: they answer a malformed request with a bare 400, turn an absolute target into
/// a path, forget how many `Host` fields there were, and know no limit of time but idleness.
struct HTTPConnections: ServerChildChannel {
    let responder: any Responder
    let limits: ListenerLimits
    let proxies: TrustedProxies
    /// `nil`: in the clear.
    let identity: CurrentTLSIdentity?
    let date: DateHeader
    let quota: ConnectionQuota
    let budget: BufferBudget

    /// An ordinary exchange fits in one read. Each connection keeps a buffer of this size, however idle it is.
    private static let readSize = 2 * 1024
    /// Octets of answers that wait for their client, from which on it is read from no more, and again.
    private static let waitingAnswers = ChannelOptions.Types.WriteBufferWaterMark(low: 4 * 1024, high: 8 * 1024)

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            let connection = Connection(channel: channel)
            let peer = channel.remoteAddress.flatMap(NetworkAddress.init)
            guard quota.admit(channel, from: peer) else {
                connection.end()
                return connection
            }
            try channel.syncOptions?.setOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
            try channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waitingAnswers)
            let origin = RequestOrigin(peer: peer, proxies: proxies)
            if let identity {
                try addTLS(identity.value, to: connection, origin)
            } else {
                try add(.http1, to: connection, origin)
            }
            return connection
        }
    }

    private func addTLS(_ identity: TLSIdentity, to connection: Connection, _ origin: RequestOrigin) throws {
        let pipeline = connection.channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: identity.context))
        try pipeline.addHandler(TLSCloseHandler())
        try pipeline.addHandler(
            // The pipeline must not keep its own connection.
            HandshakeHandler(limit: limits.headerTimeout, counts: quota.counts) { [weak connection] agreed in
                if let connection { try add(agreed, to: connection, origin) }
            })
    }

    private func add(_ agreed: ApplicationProtocol, to connection: Connection, _ origin: RequestOrigin) throws {
        switch agreed {
        case .http1: try addHTTP1(to: connection, origin)
        case .http2: try addHTTP2(to: connection, origin)
        }
    }

    /// Returns when the connection is closed. A request that is being answered goes on to its end even if its client has
    /// gone; only the end of the listener's patience with a stop cancels it.
    func handle(value connection: Connection, logger: Logger) async {
        await withTaskCancellationHandler {
            await withTaskExecutorPreference(EventLoopExecutor(connection.channel.eventLoop)) {
                while let delivery = await connection.deliveries.next() {
                    if delivery.isInOrder {
                        await answerApart(delivery, on: connection.channel.eventLoop)
                    } else {
                        await answerSideBySide(delivery, and: connection.deliveries)
                    }
                }
            }
        } onCancel: {
            connection.channel.close(promise: nil)
        }
    }
}

extension HTTPConnections {
    /// In a task of its own: a task keeps the memory of the deepest call that it ever made, some 20 KiB for an exchange, and
    /// the connection's lives as long as the connection. Not inlined: whoever waits for a request would keep the room for it.
    @inline(never)
    private func answerApart(_ delivery: Delivery, on eventLoop: any EventLoop) async {
        let answering = Task(executorPreference: EventLoopExecutor(eventLoop)) {
            await answer(delivery)
        }
        await withTaskCancellationHandler {
            await answering.value
        } onCancel: {
            answering.cancel()
        }
    }

    /// Streams of HTTP/2, to the end of the connection. Only whoever speaks it pays for a group.
    @inline(never)
    private func answerSideBySide(_ first: Delivery, and others: Mailbox<Delivery>) async {
        await withDiscardingTaskGroup { group in
            var next: Delivery? = first
            while let delivery = next {
                group.addTask { await answer(delivery) }
                next = await others.next()
            }
        }
    }

    private func answer(_ delivery: Delivery) async {
        let answer = await responder.answer(delivery.arrival)
        delivery.channel?.writeAndFlush(answer, promise: nil)
    }
}

/// An accepted connection. It is closed at the latest when nobody holds it any more.
final class Connection: ServerChildChannelValue {
    let channel: any Channel
    let deliveries = Mailbox<Delivery>()

    init(channel: any Channel) {
        self.channel = channel
        // Also where it ends before anything is there to read requests.
        channel.closeFuture.whenComplete { [deliveries] _ in deliveries.finish() }
    }

    /// Without a word.
    func end() { channel.close(promise: nil) }

    deinit { channel.close(promise: nil) }
}
