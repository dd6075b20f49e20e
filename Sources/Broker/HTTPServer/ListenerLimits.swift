package import NIOCore

/// How much data and time a listener grants one connection before it gives up.
package struct ListenerLimits: Sendable {
    /// Octets of a request body.
    package var bodySize: Int = 64 * 1024
    /// Octets of all header fields together, names and values.
    package var headerSize: Int = 16 * 1024
    package var headerFields: Int = 64
    /// Octets of the request target.
    package var targetSize: Int = 8 * 1024
    /// Octets of all chunk extensions of one body. The broker ignores their content.
    package var chunkExtensionSize: Int = 1024
    /// From the first octet of a request to the end of its header; for TLS, from the start of the connection to the end
    /// of the handshake.
    package var headerTimeout: TimeAmount = .seconds(5)
    /// From the end of the header to the end of the body.
    package var bodyTimeout: TimeAmount = .seconds(10)
    /// Between two requests, and before the first.
    package var idleTimeout: TimeAmount = .seconds(60)
    /// How long a client may leave an answer unread: until the kernel has taken all of it.
    package var writeTimeout: TimeAmount = .seconds(10)
    /// After the last answer on a connection: how long the client may take to close its side. If the broker closed both
    /// sides at once while the client is still sending, the reset would discard the answer.
    package var lingerTimeout: TimeAmount = .seconds(2)
    /// Over HTTP/2, after an answer to an incomplete request: how long its stream stays open for the rest. The stream
    /// still counts as one of ``streams``.
    package var streamLingerTimeout: TimeAmount = .milliseconds(250)
    /// When the listener stops: how long an idle connection stays open, for a request that is already on its way.
    package var idleGrace: TimeAmount = .milliseconds(100)
    /// Connections at one time; each further one is closed at once.
    package var connections: Int = 10_240
    /// Of these, from one ``ClientAddress``; trusted proxies have no such limit. `nil`: no limit.
    package var connectionsPerAddress: Int?
    /// Requests at one time on one connection of HTTP/2.
    package var streams: Int = 8
    /// Octets of bodies and answers that all connections together hold, beyond 8 KiB of each: see ``BufferShare``.
    package var bufferedOctets: Int = 64 << 20
}

extension ListenerLimits {
    /// The limits that depend on a listener; the others keep their defaults.
    package init(connections: Int, connectionsPerAddress: Int? = nil, bufferedOctets: Int) {
        self.init()
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.bufferedOctets = bufferedOctets
    }
}
