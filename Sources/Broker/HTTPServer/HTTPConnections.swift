import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL

/// Begins the connections of one listener.
///
/// Hummingbird's server is not used: it answers a malformed request with a bare 400, turns an absolute target into a
/// path, loses the number of `Host` fields, and has no time limit except for idleness.
struct HTTPConnections: Sendable {
    let responder: any Responder
    let executors: EventLoopExecutors
    let open: OpenConnections
    let limits: ListenerLimits
    let proxies: TrustedProxies
    /// `nil`: plaintext.
    let identity: CurrentTLSIdentity?
    let admitsHandshake: @Sendable (ClientAddress) -> Bool
    let date: DateHeader
    let quota: ConnectionQuota

    /// An ordinary exchange fits in one read. Each connection, even an idle one, keeps a buffer of this size.
    private static let readSize = 2 * 1024
    /// Octets of waiting answers at which reading from their client stops (high) and resumes (low).
    private static let waitingAnswers = ChannelOptions.Types.WriteBufferWaterMark(low: 4 * 1024, high: 8 * 1024)

    func setup(channel: any Channel) -> EventLoopFuture<Void> {
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
                // No other code closes it, and the listener would wait for its end.
                connection.end()
                throw error
            }
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
            // A handshake costs the broker a signature before the client has shown anything.
            if let peer, !proxies.include(peer), !admitsHandshake(ClientAddress(peer)) {
                quota.counts.handshakesRefused.add()
                return connection.end()
            }
            try addTLS(identity.value, to: connection, origin)
        } else {
            try addHTTP1(to: connection, origin)
        }
    }

    private func addTLS(_ identity: TLSIdentity, to connection: Connection, _ origin: RequestOrigin) throws {
        let pipeline = connection.channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: identity.context))
        try pipeline.addHandler(TLSCloseHandler())
        try pipeline.addHandler(
            // Weak: the pipeline must not keep its own connection alive.
            HandshakeHandler(limit: limits.headerTimeout, counts: quota.counts) { [weak connection] agreed in
                guard let connection else { return }
                switch agreed {
                case .http1: try addHTTP1(to: connection, origin)
                case .http2: try addHTTP2(to: connection, origin)
                }
            })
    }

    private var newShare: BufferShare { BufferShare(quota.counts, limit: limits.bufferedOctets) }
}

extension HTTPConnections {
    /// RFC 9112.
    func addHTTP1(to connection: Connection, _ origin: RequestOrigin) throws {
        let (framing, share) = (BodyFraming(), newShare)
        let pipeline = connection.channel.pipeline.syncOperations
        try pipeline.addHandler(FramingHandler(framing: framing, maximumExtensionOctets: limits.chunkExtensionSize))
        try pipeline.addHandler(ByteToMessageHandler(decoder()))
        try pipeline.addHandler(
            ConnectionHandler(
                limits: limits, origin: origin, framing: framing, share: share, date: date,
                requests: connection.requests))
    }

    private func decoder() -> HTTPRequestDecoder {
        var limit = NIOHTTPDecoderLimitConfiguration()
        limit.maxHeaderFieldSize = limits.headerSize
        limit.maxHeaderListSize = limits.headerSize
        limit.maxHeaderFieldCount = limits.headerFields
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limit)
    }
}

extension HTTPConnections {
    /// RFC 9113.
    func addHTTP2(to connection: Connection, _ origin: RequestOrigin) throws {
        let channel = connection.channel
        let (limits, date, requests) = (limits, date, connection.requests)
        let share = NIOLoopBound(newShare, eventLoop: channel.eventLoop)
        let intake = FrameIntakeHandler(limits: limits)
        let ending = HTTP2ConnectionHandler(
            limits: limits, counts: quota.counts, origin: origin, requests: requests, intake: intake)
        let boundEnding = NIOLoopBound(ending, eventLoop: channel.eventLoop)
        let frames = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connectionConfiguration,
            streamConfiguration: streamConfiguration,
            streamDelegate: HTTP2ConnectionHandler.Streams(ending, eventLoop: channel.eventLoop)
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                guard !boundEnding.value.isEnding else { return }
                try stream.pipeline.syncOperations.addHandler(
                    StreamHandler(
                        limits: limits, origin: origin, share: share.value, date: date, requests: requests))
            }
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(intake)
        try pipeline.addHandler(frames)
        try pipeline.addHandler(ending)
    }

    /// Limits for attacks that cost the client less than the broker: CVE-2019-9511 to 9518, CVE-2023-44487 (streams
    /// reset as soon as they are opened), CVE-2024-27316 (headers without an end).
    private var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headerSize),
            HTTP2Setting(parameter: .enablePush, value: 0),
        ]
        configuration.maximumSequentialEmptyDataFrames = 1
        configuration.maximumSequentialContinuationFrames = 4
        configuration.maximumBufferedControlFrames = 256
        configuration.maximumConnectionGlitches = 32
        configuration.controlFrameRateLimit.maximumCount = 200
        configuration.controlFrameRateLimit.windowLength = .seconds(30)
        return configuration
    }

    private var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.streamResetFrameRateLimit.maximumCount = 100
        configuration.streamResetFrameRateLimit.windowLength = .seconds(30)
        configuration.streamErrorRateLimit.maximumCount = 32
        configuration.streamErrorRateLimit.windowLength = .seconds(30)
        return configuration
    }
}
