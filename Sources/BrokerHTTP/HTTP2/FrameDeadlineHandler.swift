import NIOCore

/// Ends an HTTP/2 connection whose client begins a frame or a header block and does not finish it in time: what the limit on
/// the header is in HTTP/1. A frame that comes whole buys time for the next, so each stream has a limit of its own beside.
final class FrameDeadlineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private let timer = DeadlineTimer()
    private var progress = FrameProgress()
    private var isWaiting = false

    init(limit: TimeAmount) { self.limit = limit }

    /// The preface is awaited from the first moment: RFC 9113 §3.4 has the client send it at once.
    func handlerAdded(context: ChannelHandlerContext) { wait(context) }
    func handlerRemoved(context: ChannelHandlerContext) { timer.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let finished = progress.scan(unwrapInboundIn(data).readableBytesView)
        if finished > 0 || !progress.isUnfinished { isWaiting = false }
        if !progress.isUnfinished {
            timer.clear()
        } else if !isWaiting {
            wait(context)
        }
        context.fireChannelRead(data)
    }

    private func wait(_ context: ChannelHandlerContext) {
        isWaiting = true
        timer.set(.now() + limit, context) { context.close(promise: nil) }
    }
}
