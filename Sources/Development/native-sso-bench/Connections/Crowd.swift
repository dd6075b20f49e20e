import BrokerHarness
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Many connections that stay open and say nothing, or nothing after one request each.
struct Crowd {
    private let channels: [any Channel]

    /// So many are being opened at one time.
    private static let atOnce = 128
    /// Of one source address: fewer than the broker takes of one, and than there are ports for.
    private static let perAddress = 200

    /// - Parameters:
    ///   - tls: `nil`: in the clear.
    ///   - request: What number `n` sends, and is answered with 200; `nil`: nothing.
    static func gather(
        _ count: Int, port: UInt16, _ tls: NIOSSLContext?, request: @escaping @Sendable (Int) -> ByteBuffer?
    ) async throws -> Crowd {
        let channels = try await withThrowingTaskGroup(of: [any Channel].self) { group in
            for worker in 0..<min(atOnce, count) {
                group.addTask {
                    var channels: [any Channel] = []
                    for index in stride(from: worker, to: count, by: atOnce) {
                        channels.append(try await open(index, port, tls, request(index)))
                    }
                    return channels
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return Crowd(channels: channels)
    }

    private static func open(
        _ index: Int, _ port: UInt16, _ tls: NIOSSLContext?, _ request: ByteBuffer?
    ) async throws -> any Channel {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let done = loop.makePromise(of: Int?.self)
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(.seconds(20)).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let tls { try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil)) }
                try pipeline.addHandler(OneRequest(request, waitsForTLS: tls != nil, done))
            }
        }
        let channel: any Channel
        do {
            // Any of 127.0.0.0/8 may be bound to.
            let block = index / perAddress
            let source = "127.\(1 + block / 62_500 % 250).\(block / 250 % 250).\(1 + block % 250)"
            channel = try await bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0))
                .connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))).get()
        } catch {
            done.fail(error)
            throw error
        }
        let status = try await done.futureResult.get()
        guard status == nil || status == 200 else {
            throw ManagedProcess.Failure(
                description: "a request of connection \(index) was answered with \(status ?? 0)")
        }
        return channel
    }

    /// How many are still open.
    var count: Int { channels.count { $0.isActive } }

    func disperse() async {
        for channel in channels { channel.close(mode: .all, promise: nil) }
        for channel in channels { try? await channel.closeFuture.get() }
    }
}

/// Sends one request, if there is one, and says what the answer's status was; after that whatever comes is dropped.
private final class OneRequest: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: ByteBuffer?
    private let waitsForTLS: Bool
    private let done: EventLoopPromise<Int?>
    private var received = ByteBuffer()
    private var isDone = false

    init(_ request: ByteBuffer?, waitsForTLS: Bool, _ done: EventLoopPromise<Int?>) {
        self.request = request
        self.waitsForTLS = waitsForTLS
        self.done = done
    }

    func channelActive(context: ChannelHandlerContext) {
        if !waitsForTLS { begin(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { begin(context) }
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard let request else { return end(.success(nil)) }
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return }
        received.writeImmutableBuffer(unwrapInboundIn(data))
        let status: Int? = received.withUnsafeReadableBytes { octets in
            guard let head = AnswerHead(octets), octets.count >= head.bodyStart + head.bodyLength else { return nil }
            return head.status
        }
        if let status { end(.success(status)) }
    }

    func channelInactive(context: ChannelHandlerContext) { end(.failure(HTTPFailure.cutOff)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failure(error))
        context.close(promise: nil)
    }

    private func end(_ result: Result<Int?, any Error>) {
        guard !isDone else { return }
        isDone = true
        received = ByteBuffer()
        done.completeWith(result)
    }
}
