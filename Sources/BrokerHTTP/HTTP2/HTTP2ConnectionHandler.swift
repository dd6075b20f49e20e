import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends an HTTP/2 connection: when nobody uses it, when something is wrong with it, and when the listener stops. Always with
/// GOAWAY, and with the answers to the requests that are there. RFC 9113 §6.8.
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
    private var isEnding = false
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

    func streamOpened(_ id: HTTP2StreamID) {
        openStreams += 1
        lastStream = max(lastStream, id)
        if !isEnding, !isAnnounced { timer.clear() }
    }

    func streamClosed() {
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
    /// Whatever else it is ends the connection; requests that were there before are still answered.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isOfOneMessage = (error as? any NIOHTTP2Error)?.isOfOneMessage ?? false
        // NIO reads on from where it was.
        if !isOfOneMessage { intake.stop() }
        guard !isEnding else { return }
        if error is any NIOHTTP2Error { counts.http2Failed() }
        guard !isOfOneMessage else { return noteMalformedMessage() }
        end(context)
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
        sendGoAway(lastStream: .maxID, context)
        timer.set(.now() + limits.idleGrace, context) { [self] in end(context) }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard !isEnding else { return }
        isEnding = true
        sendGoAway(lastStream: lastStream, context)
        if openStreams == 0 { context.close(promise: nil) }
    }

    private func sendGoAway(lastStream: HTTP2StreamID, _ context: ChannelHandlerContext) {
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
        func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { handler.value.streamClosed() }
    }
}
