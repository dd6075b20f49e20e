import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends an HTTP/2 connection: when nobody uses it, when something is wrong with it, and when the listener stops. Always with
/// GOAWAY, and with the answers to the requests that are there. RFC 9113 §6.8. Where nothing is wrong, a request that is there may
/// still be on its way: also its body is awaited.
final class HTTP2ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let limits: ListenerLimits
    private let counts: ConnectionCounts
    private let origin: RequestOrigin
    private let requests: RequestTasks
    private let intake: FrameIntakeHandler
    private let timer = DeadlineTimer()
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    private var lastStream = HTTP2StreamID.rootStream
    /// No new stream is taken; the last that is there ends the connection.
    private(set) var isEnding = false
    /// Something is wrong with the connection, and nothing more is read.
    private var hasFailed = false
    /// The client was told that the end is near; the timer is for nothing else from here on.
    private var isAnnounced = false

    init(
        limits: ListenerLimits, counts: ConnectionCounts, origin: RequestOrigin, requests: RequestTasks,
        intake: FrameIntakeHandler
    ) {
        self.limits = limits
        self.counts = counts
        self.origin = origin
        self.requests = requests
        self.intake = intake
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        armIdleTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer.cancel()
    }

    /// Settings, pings and windows: NIO has answered them, and they are no use of the connection.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    /// One that comes after the end was said has no handler and no answer: its client knows that it may ask again elsewhere.
    func streamOpened(_ id: HTTP2StreamID) {
        guard !isEnding else { return }
        openStreams += 1
        lastStream = max(lastStream, id)
        if !isAnnounced { timer.clear() }
    }

    func streamClosed(_ id: HTTP2StreamID) {
        guard id <= lastStream else { return }
        openStreams -= 1
        guard openStreams == 0, let context else { return }
        guard isEnding else {
            if !isAnnounced { armIdleTimer(context) }
            return
        }
        // Not at once: the end of the answer is being written.
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: announceEnd(context)
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// NIO has told the client. A malformed message ends its own stream, RFC 9113 §5.4.2: a proxy sends the requests of many over
    /// one connection, and one of them must not end all. There are only so many of them on one connection (``HTTPConnections``).
    /// Whatever else it is ends the connection, and so do, for NIO, trailers behind a malformed message; requests that have come whole
    /// are answered within `lingerTimeout`, unless NIO has ended their streams.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasFailed else { return }
        let isOfOneMessage = (error as? any NIOHTTP2Error)?.isOfOneMessage ?? false
        // Of what comes too late nothing is noted.
        if isOfOneMessage, isEnding { return }
        if error is any NIOHTTP2Error { counts.http2Failures.add() }
        guard !isOfOneMessage else { return noteMalformedMessage() }
        hasFailed = true
        // NIO reads on from where it was.
        intake.stop()
        if !isEnding {
            isEnding = true
            sendGoAway(context)
            if openStreams == 0 { return context.close(promise: nil) }
        }
        timer.set(.now() + limits.lingerTimeout, context) { context.close(promise: nil) }
    }

    /// The stream is reset already: it is counted and logged like any other fault, and there is nobody to answer.
    private func noteMalformedMessage() {
        // Whom a proxy has sent it for stood in the message.
        requests.begin(.fault(.malformed, from: origin.client([:])), on: nil)
    }

    private func armIdleTimer(_ context: ChannelHandlerContext) {
        timer.set(.now() + limits.idleTimeout, context) { [self] in end(context) }
    }

    /// First for those whose request is on its way already.
    private func announceEnd(_ context: ChannelHandlerContext) {
        guard !isEnding, !isAnnounced else { return }
        isAnnounced = true
        intake.sendGoAway(lastStream: UInt32(Int32.max))
        timer.set(.now() + limits.idleGrace, context) { [self] in end(context) }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard !isEnding else { return }
        isEnding = true
        intake.sendGoAway(lastStream: UInt32(Int(lastStream)))
        if openStreams == 0 { context.close(promise: nil) }
    }

    /// Behind that with the error, which names no stream.
    private func sendGoAway(_ context: ChannelHandlerContext) {
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
    }
}

extension HTTP2ConnectionHandler {
    /// Tells of streams as they come and go.
    struct Streams: NIOHTTP2StreamDelegate {
        private let handler: NIOLoopBound<HTTP2ConnectionHandler>

        init(_ handler: HTTP2ConnectionHandler, eventLoop: any EventLoop) {
            self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        }

        func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { handler.value.streamOpened(id) }
        func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { handler.value.streamClosed(id) }
    }
}
