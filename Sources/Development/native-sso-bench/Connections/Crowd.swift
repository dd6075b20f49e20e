import BrokerHarness
import NIOCore

/// Many connections that stay open and say nothing, or nothing after one request each.
final class Crowd: Sendable {
    private let channels: [any Channel]

    private init(_ channels: [any Channel]) { self.channels = channels }

    /// So many are being opened at one time.
    private static let atOnce = 128

    /// - Parameter request: What number `n` sends, and is answered with 200; `nil`: nothing.
    static func gather(
        _ count: Int, _ peer: Peer, request: @escaping @Sendable (Int) -> ByteBuffer?
    ) async throws -> Crowd {
        let channels = try await withThrowingTaskGroup(of: [any Channel].self) { group in
            for worker in 0..<min(atOnce, count) {
                group.addTask {
                    var channels: [any Channel] = []
                    for index in stride(from: worker, to: count, by: atOnce) {
                        channels.append(try await open(index, peer, request(index)))
                    }
                    return channels
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return Crowd(channels)
    }

    private static func open(_ index: Int, _ peer: Peer, _ request: ByteBuffer?) async throws -> any Channel {
        let done = peer.eventLoop.makePromise(of: Int?.self)
        let channel: any Channel
        do {
            channel = try await peer.open(index) { OneRequest(request, waitsForTLS: $0, done) }.get()
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
private final class OneRequest: OpeningHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: ByteBuffer?
    let waitsForTLS: Bool
    private let done: EventLoopPromise<Int?>
    private var received = ByteBuffer()
    private var isDone = false

    init(_ request: ByteBuffer?, waitsForTLS: Bool, _ done: EventLoopPromise<Int?>) {
        self.request = request
        self.waitsForTLS = waitsForTLS
        self.done = done
    }

    func begin(_ context: ChannelHandlerContext) {
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
