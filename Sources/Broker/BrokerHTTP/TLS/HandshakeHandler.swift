import NIOCore
import NIOTLS

/// Stands behind TLS until the handshake is over, and then makes room for the protocol that was agreed on.
///
/// Nothing is read in the clear meanwhile, and it may not take longer than the head of a request.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: TimeAmount
    private let counts: ConnectionCounts
    private let configure: (ApplicationProtocol) throws -> Void
    private let timer = DeadlineTimer()
    private var isOver = false
    private var isStopping = false

    /// - Parameter configure: Adds the handlers of the protocol, at once.
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
        case is ChannelShouldQuiesceEvent: isStopping = true  // whoever is on its way in is still served
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        countFailure()
        context.fireChannelInactive()
    }

    /// TLS says what was wrong to the client, and closes.
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
        if !isOver { counts.handshakeFailed() }
        isOver = true
    }
}
