import NIOCore

/// Lets a connection that we close be closed as soon as its client agrees.
///
/// Half-closed connections are allowed, for clients that have said all they want to say. TLS would take the answer to our
/// close_notify for such a half, and keep the connection until its patience ends.
///
/// And lets nothing in that came after: no answer would go out any more, and a request that is carried out without one is lost to
/// its app. RFC 9112 §9.6.
final class TLSCloseHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isClosing = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isClosing { context.fireChannelRead(data) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all {
            isClosing = true
            try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        }
        context.close(mode: mode, promise: promise)
    }
}
