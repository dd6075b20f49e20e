package import BrokerTesting

/// An HTTP/2 connection that sends any header block, whether or not it may be sent.
///
/// In the clear, to a ``TLSTunnel`` which speaks `h2`.
package final class HTTP2Connection {
    /// How a request ends.
    package enum End: Sendable {
        case answer(HTTPAnswer)
        /// The stream alone: RFC 9113 §5.4.2.
        case reset
        /// The connection, with a GOAWAY: RFC 9113 §5.4.1.
        case goAway
        /// The connection, without a word.
        case closed
    }

    private let connection: HTTPConnection
    private var reader = FrameReader()
    private var lastStream: UInt32 = 0
    /// What the server is ready to take: RFC 9113 §6.9. It raises no initial window.
    private var window = 65_535
    private var streamWindow = 65_535
    private var end: End?

    private init(_ connection: HTTPConnection) { self.connection = connection }

    package static func open(port: UInt16) async throws -> HTTP2Connection {
        let connection = HTTP2Connection(try await HTTPConnection.open(port: port))
        try await connection.connection.send(RawFrame.preface + RawFrame(.settings).octets)
        return connection
    }

    /// One request at a time. Its head has the fields of the request as they are, their names in small letters.
    package func send(_ request: HTTPRequest) async throws -> End {
        (end, streamWindow) = (nil, 65_535)
        lastStream += lastStream == 0 ? 1 : 2
        let frames = RawFrame.head(request.block, stream: lastStream, isEnd: request.body.isEmpty)
        try await connection.send(frames.flatMap(\.octets))
        var rest = request.body[...]
        while !rest.isEmpty, end == nil {
            let room = min(window, streamWindow, RawFrame.largestPayload)
            guard room > 0 else {
                try await receive()
                continue
            }
            let part = Array(rest.prefix(room))
            rest = rest.dropFirst(room)
            (window, streamWindow) = (window - part.count, streamWindow - part.count)
            try await connection.send(
                RawFrame(.data, flags: rest.isEmpty ? RawFrame.endStream : 0, stream: lastStream, part).octets)
        }
        while true {
            if let end { return end }
            try await receive()
        }
    }

    private func receive() async throws {
        guard let octets = try await connection.octets() else {
            end = end ?? .closed
            return
        }
        for event in try reader.read(octets) {
            switch event {
            case .answer(let answer) where answer.stream == lastStream:
                end = .answer(HTTPAnswer(answer))
            case .reset(lastStream, _): end = end ?? .reset
            case .goAway: end = end ?? .goAway
            case .window(let stream, let count):
                if stream == 0 { window += count } else if stream == lastStream { streamWindow += count }
            case .answer, .reset, .ping: break
            }
        }
    }
}

extension HTTPAnswer {
    package init(_ answer: FrameReader.Answer) {
        self.init(status: answer.status, fields: answer.fields, body: answer.body)
    }
}

extension HTTPRequest {
    /// The head as a header block. RFC 9113 §8.3.1.
    var block: [(String, String)] {
        var block = [(":method", method), (":scheme", "https"), (":path", target)]
        if let host { block.append((":authority", host)) }
        block += fields.map { ($0.name.lowercased(), $0.value) }
        if !omitsLength, !body.isEmpty || method == "POST" { block.append(("content-length", "\(body.count)")) }
        return block
    }
}
