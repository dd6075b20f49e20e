import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends an HTTP/2 connection: when it is idle, when it has an error, and when the listener stops.
///
/// It always sends GOAWAY and answers the requests that have arrived. RFC 9113 §6.8. Without an error, it also waits
/// for the body of a request whose header has arrived.
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
    /// No new stream is accepted; the last open one ends the connection.
    private(set) var isEnding = false
    /// The connection has an error, and nothing more is read.
    private var hasFailed = false
    /// The client has the first GOAWAY; from here on the timer is only for the end.
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

    /// Settings, pings and windows: NIO has answered them, and they do not count as use of the connection.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    /// A stream that opens after the final GOAWAY gets no handler and no answer: its client knows that it may retry
    /// elsewhere.
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
        // Not at once: the end of the answer is still being written.
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: announceEnd(context)
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// NIO has told the client. A malformed message ends only its own stream (RFC 9113 §5.4.2): a proxy sends the
    /// requests of many clients over one connection. ``HTTPConnections`` limits such messages per connection.
    ///
    /// Every other error ends the connection. For NIO, trailers behind a malformed message are such an error. Complete
    /// requests are answered within `lingerTimeout`, unless NIO has ended their streams.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasFailed else { return }
        let isOfOneMessage = (error as? any NIOHTTP2Error)?.isOfOneMessage ?? false
        // Malformed messages after the end are not recorded.
        if isOfOneMessage, isEnding { return }
        if error is any NIOHTTP2Error || error is WindowUpdateFlood { counts.http2Failures.add() }
        guard !isOfOneMessage else {
            // The stream is already reset: the fault is counted and logged like any other, and its answer goes to no
            // client. The forwarded address was in the message, so only the peer is known.
            return requests.begin(.fault(.malformed, from: origin.client([:])), on: nil)
        }
        hasFailed = true
        // NIO would continue to parse.
        intake.stop()
        if !isEnding {
            isEnding = true
            if error is WindowUpdateFlood {
                intake.sendGoAway(lastStream: UInt32(Int(lastStream)), error: WindowUpdateFlood.code)
            } else {
                sendGoAway(context)
            }
            if openStreams == 0 { return context.close(promise: nil) }
        }
        timer.set(.now() + limits.lingerTimeout, context) { context.close(promise: nil) }
    }

    private func armIdleTimer(_ context: ChannelHandlerContext) {
        timer.set(.now() + limits.idleTimeout, context) { [self] in end(context) }
    }

    /// The first GOAWAY admits requests that are already on their way.
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

    /// Follows NIO's own GOAWAY, which carries the error and names no stream.
    private func sendGoAway(_ context: ChannelHandlerContext) {
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
    }
}

extension HTTP2ConnectionHandler {
    /// Reports streams as they open and close.
    struct Streams: NIOHTTP2StreamDelegate {
        private let handler: NIOLoopBound<HTTP2ConnectionHandler>

        init(_ handler: HTTP2ConnectionHandler, eventLoop: any EventLoop) {
            self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        }

        func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { handler.value.streamOpened(id) }
        func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { handler.value.streamClosed(id) }
    }
}
