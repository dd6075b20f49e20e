import BrokerTesting
import IdentityProvider
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on loopback that answers with given octets, or not at all.
final class StubServer: Sendable {
    enum Reply: Sendable {
        case status(Int, headers: [String] = [], body: [UInt8] = [])
        /// Sends these octets, then closes the connection.
        case octets([UInt8])
        /// Sends these octets and keeps the connection open.
        case hang(after: [UInt8] = [])
        /// Sends a 200 without length and an endless body.
        case endless

        static func ok(_ body: [UInt8]) -> Reply { .status(200, body: body) }
        static func ok(_ body: String) -> Reply { .status(200, body: Array(body.utf8)) }
    }

    private let channel: any Channel
    private let log: Log

    private final class Log: Sendable {
        let requests = Mutex<[String]>([])
        /// Octets of an endless body that the client has read.
        let taken = Atomic<Int>(0)
        let closed = AsyncStream<Void>.makeStream()
    }

    /// - Parameter certificate: The server's certificate; `nil`: no TLS.
    static func start(
        _ reply: @escaping @Sendable (_ path: String) -> Reply, certificate: TestCertificate? = nil
    ) async throws -> StubServer {
        let log = Log()
        let tls = try certificate.map { certificate in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMBytes(Array(certificate.certificate.utf8))
                        .map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(certificate.key.utf8), format: .pem))))
        }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(Handler(reply: reply, log: log))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return StubServer(channel: channel, log: log)
    }

    private init(channel: any Channel, log: Log) {
        self.channel = channel
        self.log = log
    }

    /// Runs `body` against a server, then stops the server.
    static func with(
        _ reply: @escaping @Sendable (_ path: String) -> Reply, certificate: TestCertificate? = nil,
        _ body: (StubServer) async throws -> Void
    ) async throws {
        let server = try await start(reply, certificate: certificate)
        do {
            try await body(server)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    func stop() async throws { try await channel.close() }

    var port: Int { channel.localAddress?.port ?? 0 }
    var paths: [String] { requests.map { String($0.split(separator: " ")[1]) } }
    /// The requests with their bodies.
    var requests: [String] { log.requests.withLock { $0 } }
    var octetsTaken: Int { log.taken.load(ordering: .relaxed) }

    /// Waits until the client has closed a connection.
    func connectionClosed() async {
        for await _ in log.closed.stream { return }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let reply: @Sendable (String) -> Reply
        private let log: Log
        private var received: [UInt8] = []

        init(reply: @escaping @Sendable (String) -> Reply, log: Log) {
            self.reply = reply
            self.log = log
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.append(contentsOf: unwrapInboundIn(data).readableBytesView)
            let request = String(decoding: received, as: UTF8.self)
            guard isComplete, let path = request.split(separator: " ").dropFirst().first else { return }
            received = []
            log.requests.withLock { $0.append(request) }
            switch reply(String(path)) {
            case .status(let code, let headers, let body):
                let lines = ["HTTP/1.1 \(code) X", "Content-Length: \(body.count)", "Connection: close"] + headers
                write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body, context, close: true)
            case .octets(let octets): write(octets, context, close: true)
            case .hang(let octets): write(octets, context, close: false)
            case .endless:
                write(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8), context, close: false)
                writeForEver(context)
            }
        }

        private var isComplete: Bool {
            guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
            let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
            let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }?
                .split(separator: ":").last.flatMap { Int($0.drop { $0 == " " }) }
            return received.count >= end.upperBound + (length ?? 0)
        }

        func channelInactive(context: ChannelHandlerContext) { log.closed.continuation.yield() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func write(_ octets: [UInt8], _ context: ChannelHandlerContext, close: Bool) {
            let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: octets)))
            guard close else { return }
            let channel = context.channel
            written.whenComplete { _ in channel.close(promise: nil) }
        }

        private func writeForEver(_ context: ChannelHandlerContext) {
            let chunk = ByteBuffer(repeating: UInt8(ascii: " "), count: 16 << 10)
            context.writeAndFlush(wrapOutboundOut(chunk)).assumeIsolated().whenSuccess {
                self.log.taken.add(chunk.readableBytes, ordering: .relaxed)
                self.writeForEver(context)
            }
        }
    }
}
