import BrokerTesting

/// What a client asks for on one connection of HTTP/2, by the frames alone. RFC 9113 §8.1.
struct AskedFrames {
    /// The body of each stream whose request has come to its end.
    private(set) var bodies: [UInt32: [UInt8]] = [:]
    /// The streams that the client takes back.
    private(set) var resets: Set<UInt32> = []
    /// Whether the client has acknowledged the server's settings before its first request.
    private(set) var knowsSettings = false

    private static let padded: UInt8 = 0x8

    private var unfinished: [UInt32: [UInt8]] = [:]
    /// The stream that ends with its header block, which goes on in the next frame.
    private var endingWithBlock: UInt32?

    /// - Parameter octets: What follows the preface.
    init(_ octets: [UInt8]) {
        var rest = octets
        while let frame = RawFrame.take(from: &rest) { take(frame) }
        // NIO does not wait for the end of the padding, which says nothing.
        if rest.count > 9, rest[3] == RawFrame.Kind.data.rawValue, rest[4] & Self.padded != 0 {
            rest += [UInt8](repeating: 0, count: Int(rest[9]))
            if let frame = RawFrame.take(from: &rest) { take(frame) }
        }
    }

    private mutating func take(_ frame: RawFrame) {
        let (ends, endsBlock) = (frame.flags & RawFrame.endStream != 0, frame.flags & RawFrame.endHeaders != 0)
        switch RawFrame.Kind(rawValue: frame.kind) {
        case .headers where ends && endsBlock: finish(frame.stream)
        case .headers:
            unfinished[frame.stream, default: []] += []
            if ends { endingWithBlock = frame.stream }
        case .continuation where endsBlock && endingWithBlock == frame.stream: finish(frame.stream)
        case .data:
            unfinished[frame.stream, default: []] += Self.content(of: frame)
            if ends { finish(frame.stream) }
        case .reset: resets.insert(frame.stream)
        case .settings where ends && unfinished.isEmpty && bodies.isEmpty: knowsSettings = true
        default: break
        }
    }

    private mutating func finish(_ stream: UInt32) {
        let body = unfinished.removeValue(forKey: stream) ?? []
        if bodies[stream] == nil { bodies[stream] = body }
    }

    /// Without what the frame is padded with. RFC 9113 §6.1.
    private static func content(of frame: RawFrame) -> ArraySlice<UInt8> {
        guard frame.flags & padded != 0, let padding = frame.payload.first else { return frame.payload[...] }
        return frame.payload.dropFirst().dropLast(Int(padding))
    }
}
