@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import NIOEmbedded

/// One connection of the listener without a network, for the one thread that fuzzes.
final class EmbeddedPeer {
    static let limits = ListenerLimits()

    private let channel = EmbeddedChannel()
    private let open = OpenConnections()
    private let counts = ConnectionCounts()
    /// Released once the connection is closed and all its requests are answered.
    private(set) weak var requests: RequestTasks?

    /// - Parameter speaksHTTP2: As if that had been agreed upon in the handshake of TLS.
    init(_ responder: any Responder, speaksHTTP2: Bool = false) throws {
        let limits = Self.limits
        let connections = HTTPConnections(
            responder: responder, executors: EventLoopExecutors(channel.eventLoop), open: open, limits: limits,
            proxies: .none, identity: nil, admitsHandshake: { _ in true }, date: DateHeader { 0 },
            quota: ConnectionQuota(limits: limits, proxies: .none, counts: counts))
        guard speaksHTTP2 else {
            try connections.setup(channel: channel).wait()
            return
        }
        let id = ObjectIdentifier(channel)
        let requests = RequestTasks(responder, on: connections.executors.executor(of: channel.eventLoop)) {
            [open] in open.remove(id)
        }
        let connection = Connection(channel: channel, requests)
        open.add(connection)
        try connections.addHTTP2(to: connection, RequestOrigin(peer: nil, proxies: .none))
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "fuzzing")).wait()
        self.requests = requests
    }

    /// What the client sends, and all that follows from it at once.
    func receive(_ octets: ArraySlice<UInt8>) {
        guard !octets.isEmpty else { return }
        _ = try? channel.writeInbound(ByteBuffer(bytes: octets))
        run()
    }

    func run() { channel.embeddedEventLoop.run() }

    /// What the client has got since the last call.
    func sent() throws -> [UInt8] {
        var octets: [UInt8] = []
        while let part = try channel.readOutbound(as: ByteBuffer.self) { octets += part.readableBytesView }
        return octets
    }

    /// Octets that its requests keep of the memory that connections share.
    var buffered: Int { counts.buffered(0) }

    func close() { _ = try? channel.finish(acceptAlreadyClosed: true) }
}
