import NIOCore

/// A client sent WINDOW_UPDATE frames beyond all use.
struct WindowUpdateFlood: Error {
    /// ENHANCE_YOUR_CALM, RFC 9113 §7.
    static let code: UInt32 = 0xB
}

/// Passes on the octets of an HTTP/2 connection, one frame at a time. After a fault of the connection it drops all
/// further octets, also those that have arrived already.
///
/// Ends a connection whose client begins a frame or a header block and does not finish it in time, as HTTP/1 limits the
/// header. A complete frame restarts the time, so each stream has a limit of its own as well.
///
/// Also closes a connection whose client does not read: ``WriteDeadline``.
final class FrameIntakeHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limit: TimeAmount
    private let timer = DeadlineTimer()
    private var progress = FrameProgress()
    private var isWaiting = false
    private var isStopped = false
    private var context: ChannelHandlerContext?
    private let writeDeadline: WriteDeadline

    init(limits: ListenerLimits) {
        limit = limits.headerTimeout
        writeDeadline = WriteDeadline(limit: limits.writeTimeout, share: nil)
    }

    /// The preface is awaited from the first moment: RFC 9113 §3.4 has the client send it at once.
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        wait(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer.cancel()
        writeDeadline.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writeDeadline.write(unwrapOutboundIn(data), context, promise)
    }

    /// Sends GOAWAY (RFC 9113 §6.8) past NIO. Once NIO itself sends GOAWAY, it refuses new streams at
    /// once, whatever the last stream, and treats further frames on them as a connection error.
    func sendGoAway(lastStream: UInt32, error: UInt32 = 0) {
        guard let context else { return }
        var frame = context.channel.allocator.buffer(capacity: 17)
        frame.writeBytes([0, 0, 8, 7, 0] as [UInt8])
        frame.writeInteger(0 as UInt32)
        frame.writeInteger(lastStream)
        frame.writeInteger(error)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    /// Further octets are read and dropped, so that the end of the connection is noticed.
    func stop() {
        isStopped = true
        timer.clear()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var octets = unwrapInboundIn(data)
        while !isStopped, octets.readableBytes > 0 {
            let (count, isProgress) = progress.scan(octets.readableBytesView)
            guard let part = octets.readSlice(length: count) else { return }
            if isProgress || !progress.isUnfinished { isWaiting = false }
            if !progress.isUnfinished {
                timer.clear()
            } else if !isWaiting {
                wait(context)
            }
            guard !progress.isWindowUpdateFlood else { return context.fireErrorCaught(WindowUpdateFlood()) }
            context.fireChannelRead(wrapInboundOut(part))
        }
    }

    private func wait(_ context: ChannelHandlerContext) {
        isWaiting = true
        timer.set(.now() + limit, context) { context.close(promise: nil) }
    }
}
