import NIOCore
import NIOHPACK

/// Reads what a server of HTTP/2 sends, in any portions: answers, and what else a client has to know. RFC 9113 §8.1.
package struct FrameReader {
    package struct Answer: Sendable {
        package let stream: UInt32
        package let status: Int
        /// Without the pseudo-header field.
        package let fields: [(name: String, value: String)]
        package let body: [UInt8]
    }

    package enum Event: Sendable {
        case answer(Answer)
        /// The stream ended without an answer, or the server wants no more of its request.
        case reset(stream: UInt32, code: UInt32)
        /// Nothing after this stream is answered.
        case goAway(lastStream: UInt32, code: UInt32)
        /// Stream 0 is the connection.
        case window(stream: UInt32, by: Int)
        case ping([UInt8])
    }

    private struct Unfinished {
        var head: [(name: String, value: String)] = []
        var body: [UInt8] = []
    }

    private var buffer: [UInt8] = []
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var streams: [UInt32: Unfinished] = [:]

    package init() {}

    package var isEmpty: Bool { buffer.isEmpty }

    /// - Throws: Where the octets are no HTTP/2.
    package mutating func read(_ octets: some Collection<UInt8>) throws -> [Event] {
        buffer += octets
        var events: [Event] = []
        while let frame = RawFrame.take(from: &buffer) {
            if let event = try take(frame) { events.append(event) }
        }
        return events
    }

    private mutating func take(_ frame: RawFrame) throws -> Event? {
        switch RawFrame.Kind(rawValue: frame.kind) {
        case .headers:
            // Every block counts for the decoder, an interim answer's, too.
            var octets = ByteBuffer(bytes: frame.payload)
            let block = try decoder.decodeHeaders(from: &octets).map { (name: $0.name, value: $0.value) }
            if block.first?.value.first != "1" { streams[frame.stream, default: Unfinished()].head = block }
        case .data: streams[frame.stream, default: Unfinished()].body += frame.payload
        case .reset:
            streams[frame.stream] = nil
            return .reset(stream: frame.stream, code: Self.number(frame.payload[...]))
        case .goAway:
            return .goAway(
                lastStream: Self.number(frame.payload.prefix(4)),
                code: Self.number(frame.payload.dropFirst(4).prefix(4)))
        case .windowUpdate: return .window(stream: frame.stream, by: Int(Self.number(frame.payload[...])))
        case .ping: return frame.flags & 1 == 0 ? .ping(frame.payload) : nil
        default: return nil
        }
        guard frame.flags & RawFrame.endStream != 0, let whole = streams.removeValue(forKey: frame.stream) else {
            return nil
        }
        return .answer(
            Answer(
                stream: frame.stream, status: whole.head.first.flatMap { Int($0.value) } ?? 0,
                fields: Array(whole.head.dropFirst()), body: whole.body))
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt32 { octets.reduce(0) { $0 << 8 | UInt32($1) } }
}
