import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// How connections of a benchmark reach the broker: many of them, on one event loop, from many addresses.
struct Peer: Sendable {
    let eventLoop: any EventLoop
    let port: UInt16
    /// `nil`: in the clear.
    let tls: NIOSSLContext?

    /// Of one source address: fewer than the broker takes of one, and than there are ports for.
    static let connectionsPerAddress = 200

    /// Opens connection number `index`, and adds `handler` to it, behind TLS.
    func open(
        _ index: Int, inTLS: Bool = true, receiveBuffer: Int? = nil,
        _ handler: @escaping @Sendable (_ waitsForTLS: Bool) -> any OpeningHandler
    ) -> EventLoopFuture<any Channel> {
        let context = inTLS ? tls : nil
        let bootstrap = ClientBootstrap(group: eventLoop).connectTimeout(.seconds(20))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context {
                        try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                    }
                    try pipeline.addHandler(handler(context != nil))
                }
            }
        do {
            let target = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
            var from = bootstrap.bind(to: try SocketAddress(ipAddress: Self.source(of: index), port: 0))
            if let receiveBuffer {
                from = from.channelOption(.autoRead, value: false)
                    .channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
            }
            return from.connect(to: target)
        } catch {
            return eventLoop.makeFailedFuture(error)
        }
    }

    /// Any of 127.0.0.0/8 may be bound to; 127.0.0.1 is left to others.
    static func source(of index: Int) -> String {
        let block = index / connectionsPerAddress
        return "127.\(1 + block / 62_500 % 250).\(block / 250 % 250).\(1 + block % 250)"
    }
}

/// One side of a connection, which begins when that is open. In TLS it is open after the handshake.
protocol OpeningHandler: ChannelInboundHandler {
    var waitsForTLS: Bool { get }

    func begin(_ context: ChannelHandlerContext)
}

extension OpeningHandler {
    func channelActive(context: ChannelHandlerContext) {
        if !waitsForTLS { begin(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { begin(context) }
    }
}
