import NIOCore
import NIOTLS

/// Stands behind TLS until the handshake ends, and then adds the handlers of the agreed protocol.
///
/// No plaintext is read before that. The handshake has the time limit of a request header.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private let counts: ConnectionCounts
    private let configure: (ApplicationProtocol) throws -> Void
    private let timer = DeadlineTimer()
    private var isOver = false
    private var isStopping = false

    /// - Parameter configure: Adds the handlers of the protocol, before it returns.
    init(limit: TimeAmount, counts: ConnectionCounts, configure: @escaping (ApplicationProtocol) throws -> Void) {
        self.limit = limit
        self.counts = counts
        self.configure = configure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer.set(.now() + limit, context) { [self] in fail(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let agreed): succeed(agreed, context)
        case is ChannelShouldQuiesceEvent: isStopping = true  // a client in its handshake is still served
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        countFailure()
        context.fireChannelInactive()
    }

    /// TLS sends its alert to the client, then the connection closes.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(context) }

    /// A client that names no protocol speaks HTTP/1.1.
    private func succeed(_ agreed: String?, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        do {
            try configure(agreed.flatMap(ApplicationProtocol.init) ?? .http1)
        } catch {
            context.close(promise: nil)
            return
        }
        if isStopping { context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func fail(_ context: ChannelHandlerContext) {
        countFailure()
        context.close(promise: nil)
    }

    private func countFailure() {
        if !isOver { counts.handshakesFailed.add() }
        isOver = true
    }
}

/// Completes the server's close as soon as the client agrees.
///
/// Half-closed connections are allowed, for clients that have sent everything. TLS would treat the client's answer to
/// the server's close_notify as a half-close, and keep the connection until the shutdown timeout.
///
/// Also drops octets that arrive after that close: no answer could go out any more, and the app would never learn that
/// its request was carried out. RFC 9112 §9.6.
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
