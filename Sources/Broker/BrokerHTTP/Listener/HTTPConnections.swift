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
    let executors: EventLoopExecutors
    let open: OpenConnections
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

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Accepted> {
        channel.eventLoop.makeCompletedFuture {
            let connection = Connection(
                channel: channel,
                RequestTasks(responder, on: executors.executor(of: channel.eventLoop)) {
                    [open, id = ObjectIdentifier(channel)] in open.remove(id)
                })
            open.add(connection)
            do {
                try begin(connection)
            } catch {
                // Nobody else closes it, and the listener would wait for its end.
                connection.end()
                throw error
            }
            return Accepted(channel: channel)
        }
    }

    private func begin(_ connection: Connection) throws {
        let channel = connection.channel
        let peer = channel.remoteAddress.flatMap(NetworkAddress.init)
        guard quota.admit(channel, from: peer) else { return connection.end() }
        try channel.syncOptions?.setOption(
            .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
        try channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waitingAnswers)
        let origin = RequestOrigin(peer: peer, proxies: proxies)
        if let identity {
            try addTLS(identity.value, to: connection, origin)
        } else {
            try add(.http1, to: connection, origin)
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

    /// At once: see ``OpenConnections``.
    func handle(value connection: Accepted, logger: Logger) async {}
}

/// What Hummingbird wants to know of a connection.
struct Accepted: ServerChildChannelValue {
    let channel: any Channel
}
