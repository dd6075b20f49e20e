@testable import BrokerHTTP
import NIOCore
import NIOPosix
import NIOSSL
import StrictCoding

/// A TCP connection that sends exactly the given octets.
final class RawClient {
    private let inbound: AsyncStream<ByteBuffer>
    private var received: [UInt8] = []
    let channel: any Channel

    private init(_ channel: any Channel, _ inbound: AsyncStream<ByteBuffer>) {
        self.channel = channel
        self.inbound = inbound
    }

    /// - Parameters:
    ///   - socket: The path of a Unix socket, in place of the port.
    ///   - source: The client's address: any of 127.0.0.0/8.
    ///   - tls: The client's TLS configuration; `nil`: plaintext.
    ///   - readsNothing: Then the kernel's buffers fill, and after them the server's.
    static func connect<Result>(
        to port: Int = 0, socket: String? = nil, from source: String? = nil, tls: NIOSSLContext? = nil,
        readsNothing: Bool = false, _ body: (RawClient) async throws -> Result
    ) async throws -> Result {
        let (inbound, received) = AsyncStream.makeStream(of: ByteBuffer.self)
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: tls == nil)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: nil)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Receiver(received: received))
                }
            }
        if readsNothing {
            bootstrap = bootstrap.channelOption(.autoRead, value: false)
                .channelOption(.socketOption(.so_rcvbuf), value: 4096)
        }
        if let source { bootstrap = try bootstrap.bind(to: SocketAddress(ipAddress: source, port: 0)) }
        let connecting =
            socket.map { bootstrap.connect(unixDomainSocketPath: $0) }
            ?? bootstrap.connect(host: "127.0.0.1", port: port)
        let channel = try await connecting.get()
        defer { channel.close(promise: nil) }
        return try await body(RawClient(channel, inbound))
    }

    func send(_ octets: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: octets)) }
    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends, and ignores that the server may have closed the connection.
    func trySend(_ text: String) async { try? await send(text) }

    /// Closes the client's side.
    func finish() { channel.close(mode: .output, promise: nil) }

    /// The next octets, in any number; `nil` at the end of the connection.
    func octets() async -> [UInt8]? {
        for await octets in inbound { return Array(octets.readableBytesView) }
        return nil
    }

    /// The next answer; `nil` at the end of the connection.
    ///
    /// - Parameter hasBody: `false` for an answer to HEAD.
    func answer(hasBody: Bool = true) async throws -> RawAnswer? {
        while true {
            if let (answer, length) = RawAnswer.parse(received, hasBody: hasBody) {
                received.removeFirst(length)
                return answer
            }
            guard let more = await octets() else {
                guard received.isEmpty else { throw RawAnswer.Cut(received: received) }
                return nil
            }
            received += more
        }
    }

    /// The answer if there is one, where the server may cut off the connection.
    func lastAnswer() async -> RawAnswer? { try? await answer() }
}

private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: AsyncStream<ByteBuffer>.Continuation

    init(received: AsyncStream<ByteBuffer>.Continuation) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { received.yield(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { received.finish() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { received.finish() }
    }
}

/// An HTTP/1.1 answer as it was received.
struct RawAnswer: Sendable {
    let statusLine: String
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    struct Cut: Error {
        let received: [UInt8]
    }

    var status: Int { Int(statusLine.split(separator: " ")[1]) ?? 0 }
    var text: String { String(decoding: body, as: UTF8.self) }

    func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    var error: String? { (try? JSONReader.parse(body))?.object?.string("error") }
    var closes: Bool { values("connection") == ["close"] }

    /// `nil` while octets are missing.
    static func parse(_ octets: [UInt8], hasBody: Bool) -> (RawAnswer, length: Int)? {
        let end = Array("\r\n\r\n".utf8)
        guard let headEnd = (0..<max(0, octets.count - 3)).first(where: { octets[$0..<$0 + 4].elementsEqual(end) })
        else { return nil }
        let head = String(decoding: octets[..<headEnd], as: UTF8.self)
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: parts.count > 1 ? parts[1].drop { $0 == " " }.description : "")
        }
        let isEmpty = !hasBody || lines[0].contains(" 100 ")
        let length =
            isEmpty ? 0 : fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        let bodyStart = headEnd + 4
        guard octets.count >= bodyStart + length else { return nil }
        let answer = RawAnswer(
            statusLine: lines[0], fields: fields, body: Array(octets[bodyStart..<bodyStart + length]))
        return (answer, bodyStart + length)
    }
}
