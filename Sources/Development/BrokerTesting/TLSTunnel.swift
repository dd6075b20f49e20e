import NIOCore
import NIOPosix
import NIOSSL

/// A port of its own that leads to a broker through TLS: whatever comes in is sent on encrypted, octet for octet, and back.
///
/// So that what sends exactly the octets it is given can do so over TLS too.
package final class TLSTunnel: Sendable {
    package let port: UInt16
    private let listener: any Channel

    package struct NoPort: Error {}

    /// - Parameters:
    ///   - broker: Its port on this machine.
    ///   - certificate: PEM; no other is trusted.
    ///   - version: The protocol to negotiate (ALPN): `http/1.1` or `h2`.
    package init(to broker: UInt16, trusting certificate: String, speaking version: String = "http/1.1") async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.applicationProtocols = [version]
        let context = try NIOSSLContext(configuration: configuration)
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { near in Self.join(near, to: broker, context) }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port.flatMap(UInt16.init(exactly:)) else { throw NoPort() }
        self.port = port
    }

    deinit { listener.close(promise: nil) }

    private static func join(_ near: any Channel, to broker: UInt16, _ context: NIOSSLContext) -> EventLoopFuture<Void>
    {
        ClientBootstrap(group: near.eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { far in
                far.eventLoop.makeCompletedFuture {
                    try far.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: nil), PassOn(near))
                }
            }
            .connect(host: "127.0.0.1", port: Int(broker))
            .flatMap { far in
                near.eventLoop.makeCompletedFuture {
                    try near.pipeline.syncOperations.addHandler(PassOn(far))
                    try near.syncOptions?.setOption(.autoRead, value: true)
                }
            }
    }
}

/// Forwards octets, half-close and close to the other side.
private final class PassOn: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(_ other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        // Stops reading while the other side does not accept octets: back pressure reaches the sender.
        if !other.isWritable { try? context.channel.syncOptions?.setOption(.autoRead, value: false) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other.setOption(.autoRead, value: true).whenComplete { _ in } }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { other.close(mode: .output, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
