import NIOCore
import NIOHTTP1

extension HTTPAnswer {
    /// The answer as it travels, RFC 9112 §4 to §6: head and body in one buffer, for one write and one system call.
    ///
    /// Every name and value is ours and none holds a line end. Written here rather than by NIO's encoder, which sends head,
    /// body and end one after the other through all handlers.
    /// - Parameters:
    ///   - hasBody: `false` for the answer to HEAD, whose fields are those of GET.
    ///   - isLast: The connection ends after it.
    func octets(date: String, hasBody: Bool, isLast: Bool) -> ByteBuffer {
        var octets = ByteBuffer()
        octets.reserveCapacity(Self.headCapacity + body.count)
        octets.writeStaticString("HTTP/1.1 ")
        octets.writeString(String(status.code))
        octets.writeStaticString(" ")
        octets.writeString(status.reasonPhrase)
        octets.writeStaticString("\r\n")
        forEachField(date: date) { name, value in octets.writeField(name, value) }
        if isLast { octets.writeField("Connection", "close") }
        octets.writeStaticString("\r\n")
        if hasBody { octets.writeBytes(body) }
        return octets
    }

    /// Enough for the fields of every answer.
    private static let headCapacity = 512
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
