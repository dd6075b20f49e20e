@testable import BrokerHTTP
import BrokerTesting
import NIOCore
import NIOHPACK
import NIOSSL

/// An HTTP/2 client that sends exactly the given frames.
final class FrameClient {
    struct Answer {
        let status: Int
        let fields: HPACKHeaders
        let body: [UInt8]
    }

    /// The stream ended without an answer.
    struct Reset: Error { let code: UInt8? }

    private let client: RawClient
    private var received: [UInt8] = []
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var frames: [RawFrame] = []

    private init(_ client: RawClient) { self.client = client }

    /// - Parameter starts: Whether the client sends preface and settings.
    static func connect<Result>(
        to port: Int, _ certificate: TestCertificate, starts: Bool = true, _ body: (FrameClient) async throws -> Result
    ) async throws -> Result {
        try await RawClient.connect(to: port, tls: try certificate.client(protocols: ["h2"])) { client async throws in
            let frames = FrameClient(client)
            if starts { try await client.send(RawFrame.preface + RawFrame(.settings).octets) }
            return try await body(frames)
        }
    }

    func send(_ frames: RawFrame...) async throws { try await send(frames.flatMap(\.octets)) }
    func send(_ octets: [UInt8]) async throws { try await client.send(octets) }
    func trySend(_ octets: [UInt8]) async { try? await client.send(octets) }

    /// The next frame; `nil` at the end of the connection.
    func frame() async -> RawFrame? {
        while true {
            if let frame = RawFrame.take(from: &received) { return frame }
            guard let more = await client.octets() else { return nil }
            received += more
        }
    }

    /// The next frame of a kind; earlier frames of other kinds are dropped.
    func frame(_ kind: RawFrame.Kind) async -> RawFrame? {
        while let frame = await frame() { if frame.kind == kind.rawValue { return frame } }
        return nil
    }

    /// Waits until the server has processed all frames before it.
    func ping() async throws {
        try await send(RawFrame(.ping, [UInt8](repeating: 1, count: 8)))
        _ = await frame(.ping)
    }

    /// Whether the server closes the connection.
    func isEnded() async -> Bool {
        while await frame() != nil {}
        return true
    }

    /// The answer on a stream; earlier answers on other streams are dropped.
    func answer(_ stream: UInt32) async throws -> Answer? {
        var (fields, body) = (HPACKHeaders(), [UInt8]())
        while let frame = await frame() {
            var block = HPACKHeaders()
            if frame.kind == RawFrame.Kind.headers.rawValue {
                // The decoder needs every block, also of other streams.
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

    /// The head of `POST /token`, whose body is still to come.
    func begin(_ stream: UInt32, _ more: [(String, String)] = []) async throws {
        let block = RawFrame.block(Self.goodHead + more)
        try await send(RawFrame(.headers, flags: RawFrame.endHeaders, stream: stream, block))
    }

    /// The last part of a body.
    func end(_ stream: UInt32, _ body: String) async throws {
        try await send(RawFrame(.data, flags: RawFrame.endStream, stream: stream, Array(body.utf8)))
    }
}
