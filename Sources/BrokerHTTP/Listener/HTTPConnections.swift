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

    /// An exchange fits in one read.
    private static let readSize = 8 * 1024

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
                await withDiscardingTaskGroup { group in
                    while let delivery = await connection.deliveries.next() {
                        if delivery.isInOrder {
                            await answer(delivery)
                        } else {
                            group.addTask { await answer(delivery) }
                        }
                    }
                }
            }
        } onCancel: {
            connection.channel.close(promise: nil)
        }
    }
}

extension HTTPConnections {
    private func answer(_ delivery: Delivery) async {
        delivery.channel.writeAndFlush(await responder.answer(delivery.arrival), promise: nil)
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
