package import NIOCore

/// How much, and for how long, a listener takes from one connection before it gives up on it.
package struct ListenerLimits: Sendable {
    /// Octets of a request body.
    package var bodySize: Int
    /// Octets of all header fields together, names and values.
    package var headerSize: Int
    package var headerFields: Int
    /// Octets of the request target.
    package var targetSize: Int
    /// Octets of all chunk extensions of one body. They mean nothing here.
    package var chunkExtensionSize: Int
    /// From the first octet of a request to the end of its header; of a connection to the end of its TLS handshake.
    package var headerTimeout: TimeAmount
    /// From the end of the header to the end of the body.
    package var bodyTimeout: TimeAmount
    /// Between two requests, and before the first.
    package var idleTimeout: TimeAmount
    /// Until the kernel has taken an answer whole: how long a client may leave it unread.
    package var writeTimeout: TimeAmount
    /// After the last answer on a connection: how long the client may take to close its side. Closing both sides at once
    /// would reset the connection, and the answer with it, while the client is still sending.
    package var lingerTimeout: TimeAmount
    /// Over HTTP/2, after an answer to what had not come to its end: how long its stream, one of ``streams``, stays open for that.
    package var streamLingerTimeout: TimeAmount
    /// When the listener stops: how long an idle connection stays open, for a request that is already on its way.
    package var idleGrace: TimeAmount
    /// Connections at one time; what is beyond is closed at once.
    package var connections: Int
    /// Of these, from one ``ClientAddress``; trusted proxies have no such limit. `nil`: nobody has.
    package var connectionsPerAddress: Int?
    /// Requests at one time on one connection of HTTP/2.
    package var streams: Int
    /// Octets of bodies and of answers that all connections together keep, beyond 8 KiB of each: see ``BufferBudget``.
    package var bufferedOctets: Int

    package init(
        bodySize: Int = 64 * 1024, headerSize: Int = 16 * 1024, headerFields: Int = 64, targetSize: Int = 8 * 1024,
        chunkExtensionSize: Int = 1024, headerTimeout: TimeAmount = .seconds(5),
        bodyTimeout: TimeAmount = .seconds(10), idleTimeout: TimeAmount = .seconds(60),
        writeTimeout: TimeAmount = .seconds(10), lingerTimeout: TimeAmount = .seconds(2),
        streamLingerTimeout: TimeAmount = .milliseconds(250),
        idleGrace: TimeAmount = .milliseconds(100), connections: Int = 10_240, connectionsPerAddress: Int? = nil,
        streams: Int = 8, bufferedOctets: Int = 64 << 20
    ) {
        self.bodySize = bodySize
        self.headerSize = headerSize
        self.headerFields = headerFields
        self.targetSize = targetSize
        self.chunkExtensionSize = chunkExtensionSize
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.idleTimeout = idleTimeout
        self.writeTimeout = writeTimeout
        self.lingerTimeout = lingerTimeout
        self.streamLingerTimeout = streamLingerTimeout
        self.idleGrace = idleGrace
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.streams = streams
        self.bufferedOctets = bufferedOctets
    }
}
