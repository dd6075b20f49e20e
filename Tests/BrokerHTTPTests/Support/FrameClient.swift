@testable import BrokerHTTP
import BrokerTesting
import NIOCore
import NIOHPACK
import NIOSSL

/// A frame as it travels. RFC 9113 §4.1.
struct RawFrame: Equatable {
    enum Kind: UInt8 {
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

    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4

    var kind: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]

    init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        self.init(kind: kind.rawValue, flags: flags, stream: stream, payload: payload)
    }

    init(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    var octets: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind, flags]
            + Self.big(stream) + payload
    }

    static func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

    /// A header block in literals, nothing compressed. RFC 7541 §6.2.2.
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0x00] + text($0.0) + text($0.1) }
    }

    private static func text(_ text: String) -> [UInt8] {
        let octets = Array(text.utf8)
        guard octets.count >= 0x7F else { return [UInt8(octets.count)] + octets }
        var (length, rest) = ([UInt8(0x7F)], octets.count - 0x7F)
        while rest >= 0x80 {
            length.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return length + [UInt8(rest)] + octets
    }
}

/// An HTTP/2 client that sends exactly the frames it is given.
final class FrameClient {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    struct Answer {
        let status: Int
        let fields: HPACKHeaders
        let body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The stream ended without an answer.
    struct Reset: Error { let code: UInt8? }

    private let client: RawClient
    private var received: [UInt8] = []
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var frames: [RawFrame] = []

    private init(_ client: RawClient) { self.client = client }

    /// - Parameter starts: Whether preface and settings are sent.
    static func connect<Result>(
        to port: Int, _ certificate: TestCertificate, starts: Bool = true, _ body: (FrameClient) async throws -> Result
    ) async throws -> Result {
        try await RawClient.connect(to: port, tls: try certificate.client(protocols: ["h2"])) { client async throws in
            let frames = FrameClient(client)
            if starts { try await client.send(preface + RawFrame(.settings).octets) }
            return try await body(frames)
        }
    }

    func send(_ frames: RawFrame...) async throws { try await send(frames.flatMap(\.octets)) }
    func send(_ octets: [UInt8]) async throws { try await client.send(octets) }
    func trySend(_ octets: [UInt8]) async { try? await client.send(octets) }

    /// The next frame; `nil` at the end of the connection.
    func frame() async -> RawFrame? {
        while true {
            if received.count >= 9 {
                let length = received[..<3].reduce(0) { $0 << 8 | Int($1) }
                if received.count >= 9 + length {
                    let stream = received[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                    let frame = RawFrame(
                        kind: received[3], flags: received[4], stream: stream,
                        payload: Array(received[9..<9 + length]))
                    received.removeFirst(9 + length)
                    return frame
                }
            }
            guard let more = await client.octets() else { return nil }
            received += more
        }
    }

    /// The next frame of a kind; whatever comes before it is dropped.
    func frame(_ kind: RawFrame.Kind) async -> RawFrame? {
        while let frame = await frame() { if frame.kind == kind.rawValue { return frame } }
        return nil
    }

    /// Whether the server hangs up.
    func isEnded() async -> Bool {
        while await frame() != nil {}
        return true
    }

    /// The answer on a stream; answers on other streams that come before it are dropped.
    func answer(_ stream: UInt32) async throws -> Answer? {
        var (fields, body) = (HPACKHeaders(), [UInt8]())
        while let frame = await frame() {
            var block = HPACKHeaders()
            if frame.kind == RawFrame.Kind.headers.rawValue {
                // Every block counts for the decoder, whosever it is.
                var octets = ByteBuffer(bytes: frame.payload)
                block = try decoder.decodeHeaders(from: &octets)
            }
            guard frame.stream == stream else { continue }
            switch RawFrame.Kind(rawValue: frame.kind) {
            case .headers: fields = block
            case .data: body += frame.payload
            case .reset: throw Reset(code: frame.payload.last)
            default: continue
            }
            if frame.flags & RawFrame.endStream != 0 {
                return Answer(status: fields.first(name: ":status").flatMap(Int.init) ?? 0, fields: fields, body: body)
            }
        }
        return nil
    }
}

extension FrameClient {
    static let goodHead = [
        (":method", "POST"), (":scheme", "https"), (":path", "/token"), (":authority", "sso.example.test"),
        ("content-type", "application/x-www-form-urlencoded"),
    ]

    /// `POST /token` on a stream.
    func post(
        _ body: String, on stream: UInt32, head: [(String, String)] = FrameClient.goodHead
    ) async throws {
        try await send(
            RawFrame(.headers, flags: RawFrame.endHeaders, stream: stream, RawFrame.block(head)),
            RawFrame(.data, flags: RawFrame.endStream, stream: stream, Array(body.utf8)))
    }

    /// A request without a body.
    func request(_ head: [(String, String)], on stream: UInt32) async throws {
        try await send(
            RawFrame(
                .headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: stream, RawFrame.block(head)))
    }
}
