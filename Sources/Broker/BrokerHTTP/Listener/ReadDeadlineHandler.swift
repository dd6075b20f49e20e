import NIOCore
import NIOHTTP1

/// Ends the patience with a client that sends slowly or not at all. The rules are ``ReadDeadline``'s.
final class ReadDeadlineHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A request was begun and not finished in time. (An idle connection is closed without a word.)
    enum Expired {
        case header
        case body
    }

    private var state: ReadDeadline
    private let timer = DeadlineTimer()
    private let framing: BodyFraming

    init(limits: ListenerLimits, framing: BodyFraming) {
        state = ReadDeadline(limits: limits, now: .now())
        self.framing = framing
    }

    func handlerAdded(context: ChannelHandlerContext) { arm(context) }
    func handlerRemoved(context: ChannelHandlerContext) { timer.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: state.receivedHead(now: .now())
        case .body: break  // no fresh start: the limit is on the body as a whole
        case .end: state.receivedEnd(now: .now())
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if framing.isHeadUnfinished { state.receivedPartOfHead(now: .now()) }
        arm(context)
        context.fireChannelReadComplete()
    }

    /// One whole answer; or an interim response, which follows a head at once and so buys its body no time.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        state.answered(now: .now())
        arm(context)
        context.write(data, promise: promise)
    }

    private func arm(_ context: ChannelHandlerContext) {
        guard let deadline = state.deadline else { return timer.clear() }
        timer.set(deadline, context) { [self] in
            switch state.phase {
            case .idle: context.close(promise: nil)
            case .header: context.fireUserInboundEventTriggered(Expired.header)
            case .body: context.fireUserInboundEventTriggered(Expired.body)
            }
        }
    }
}
