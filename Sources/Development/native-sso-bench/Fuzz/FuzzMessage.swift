import BrokerTesting

/// A request by its parts, each of any octets.
struct FuzzMessage {
    var method = Array("POST".utf8)
    var target = Array("/token".utf8)
    /// Beside the host and the length.
    var fields: [(name: [UInt8], value: [UInt8])] = [
        (Array("Content-Type".utf8), Array("application/x-www-form-urlencoded".utf8))
    ]
    var body: [UInt8]

    init(_ form: FuzzForm) { body = form.octets }

    mutating func add(_ name: String, _ value: [UInt8]) { fields.append((Array(name.utf8), value)) }

    /// In HTTP/1.1. Each field is one line.
    var octets: [UInt8] {
        var head = method + Array(" ".utf8) + target + Array(" HTTP/1.1\r\nHost: 127.0.0.1\r\n".utf8)
        for (name, value) in fields { head += name + [0x3A, 0x20] + Self.oneLine(value) + [0x0D, 0x0A] }
        return head + Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    /// What of it keeps a line of HTTP/1.1 one line.
    static func oneLine(_ value: [UInt8]) -> [UInt8] { value.filter { $0 != 0x0D && $0 != 0x0A } }

    /// In HTTP/2, all in one header block.
    func frames(on stream: UInt32) -> [RawFrame] {
        var head = [(":method", method), (":scheme", Array("https".utf8)), (":path", target)].map {
            (Array($0.0.utf8), $0.1)
        }
        head.append((Array(":authority".utf8), Array("127.0.0.1".utf8)))
        for (name, value) in fields { head.append((name.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, value)) }
        head.append((Array("content-length".utf8), Array("\(body.count)".utf8)))
        var frames = RawFrame.head(block: RawFrame.block(head), stream: stream, isEnd: body.isEmpty)
        for start in stride(from: 0, to: body.count, by: RawFrame.largestPayload) {
            let end = min(start + RawFrame.largestPayload, body.count)
            let flags = end == body.count ? RawFrame.endStream : 0
            frames.append(RawFrame(.data, flags: flags, stream: stream, Array(body[start..<end])))
        }
        return frames
    }

    /// Whether HTTP/2 allows the values of its fields, so that its stream may not be ended for them. RFC 9113 §8.2.1.
    var isWellFormed: Bool {
        fields.allSatisfy { _, value in
            value.allSatisfy { (0x20...0x7E).contains($0) } && value.first != 0x20 && value.last != 0x20
        }
    }
}
