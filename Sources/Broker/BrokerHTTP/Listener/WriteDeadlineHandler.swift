import NIOCore

/// Closes a connection whose client does not read: an answer must be in the kernel's hands within the limit.
final class WriteDeadlineHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limit: TimeAmount
    private let timer = DeadlineTimer()
    private let share: BufferShare?
    private var pending = 0

    /// - Parameter share: Holds what the kernel has not taken; `nil` where somebody else sees to that.
    init(limit: TimeAmount, share: BufferShare?) {
        self.limit = limit
        self.share = share
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer.cancel() }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        pending += 1
        if pending == 1 { arm(context) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let octets = unwrapOutboundIn(data).readableBytes
        share?.takeInAnyCase(octets)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.share?.giveBack(octets)
            self.wrote(context)
        }
        context.write(data, promise: written)
    }

    /// Answers are written in order, so each that goes out is progress, and the next one has the whole time.
    private func wrote(_ context: ChannelHandlerContext) {
        pending -= 1
        pending == 0 ? timer.clear() : arm(context)
    }

    private func arm(_ context: ChannelHandlerContext) {
        timer.set(.now() + limit, context) { context.close(promise: nil) }
    }
}
