import NIOCore
import NIOHTTP1

extension HTTPConnections {
    /// RFC 9112.
    func addHTTP1(to connection: Connection, _ origin: RequestOrigin) throws {
        let (framing, share) = (BodyFraming(), BufferShare(budget))
        let pipeline = connection.channel.pipeline.syncOperations
        try pipeline.addHandler(FramingHandler(framing: framing, maximumExtensionOctets: limits.chunkExtensionSize))
        try pipeline.addHandler(ByteToMessageHandler(decoder()))
        try pipeline.addHandler(ReadDeadlineHandler(limits: limits, framing: framing))
        try pipeline.addHandler(WriteDeadlineHandler(limit: limits.writeTimeout, share: share))
        try pipeline.addHandler(
            ConnectionHandler(
                limits: limits, origin: origin, framing: framing, share: share, date: date,
                requests: connection.requests))
    }

    private func decoder() -> HTTPRequestDecoder {
        var limit = NIOHTTPDecoderLimitConfiguration()
        limit.maxHeaderFieldSize = limits.headerSize
        limit.maxHeaderListSize = limits.headerSize
        limit.maxHeaderFieldCount = limits.headerFields
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limit)
    }
}
