import NIOCore

/// Lets a connection that we close be closed as soon as its client agrees.
///
/// Half-closed connections are allowed, for clients that have said all they want to say. TLS would take the answer to our
/// close_notify for such a half, and keep the connection until its patience ends.
final class TLSCloseHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all { try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false) }
        context.close(mode: mode, promise: promise)
    }
}
