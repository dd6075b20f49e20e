/// A frame as it travels. RFC 9113 §4.1.
package struct RawFrame: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case data = 0
        case headers = 1
        case priority = 2
        case reset = 3
        case settings = 4
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    /// What a client sends first. RFC 9113 §3.4.
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    package static let endStream: UInt8 = 0x1
    package static let endHeaders: UInt8 = 0x4

    package var kind: UInt8
    package var flags: UInt8
    package var stream: UInt32
    package var payload: [UInt8]

    package init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        self.init(kind: kind.rawValue, flags: flags, stream: stream, payload: payload)
    }

    package init(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    package var octets: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind, flags]
            + Self.big(stream) + payload
    }

    package static func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

    /// A header block in literals, nothing compressed. RFC 7541 §6.2.2.
    package static func block(_ fields: [(String, String)]) -> [UInt8] {
        block(fields.map { (Array($0.0.utf8), Array($0.1.utf8)) })
    }

    /// The same of any octets.
    package static func block(_ fields: [([UInt8], [UInt8])]) -> [UInt8] {
        fields.flatMap { [0x00] + text($0.0) + text($0.1) }
    }

    private static func text(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count >= 0x7F else { return [UInt8(octets.count)] + octets }
        var (length, rest) = ([UInt8(0x7F)], octets.count - 0x7F)
        while rest >= 0x80 {
            length.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return length + [UInt8(rest)] + octets
    }

    /// The first frame of these octets, which it takes away; `nil` where it is not whole.
    package static func take(from octets: inout [UInt8]) -> RawFrame? {
        guard octets.count >= 9 else { return nil }
        let length = octets[..<3].reduce(0) { $0 << 8 | Int($1) }
        guard octets.count >= 9 + length else { return nil }
        let stream = octets[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let frame = RawFrame(
            kind: octets[3], flags: octets[4], stream: stream, payload: Array(octets[9..<9 + length]))
        octets.removeFirst(9 + length)
        return frame
    }
}

extension RawFrame {
    /// A payload that every server takes. RFC 9113 §4.2.
    package static let largestPayload = 16_384

    /// The header block of a request, over as many frames as it needs. RFC 9113 §6.10.
    /// - Parameter isEnd: Whether no body follows.
    package static func head(_ fields: [(String, String)], stream: UInt32, isEnd: Bool) -> [RawFrame] {
        head(block: block(fields), stream: stream, isEnd: isEnd)
    }

    package static func head(block: [UInt8], stream: UInt32, isEnd: Bool) -> [RawFrame] {
        var frames: [RawFrame] = []
        for start in stride(from: 0, to: max(block.count, 1), by: largestPayload) {
            frames.append(
                RawFrame(
                    start == 0 ? .headers : .continuation, flags: start == 0 && isEnd ? endStream : 0, stream: stream,
                    Array(block[start..<min(start + largestPayload, block.count)])))
        }
        frames[frames.count - 1].flags |= endHeaders
        return frames
    }
}
