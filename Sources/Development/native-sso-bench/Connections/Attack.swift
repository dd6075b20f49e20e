import NIOCore

/// What a slow attacker does with a connection, to keep it from those who would use it.
enum Attack: String, CaseIterable, Sendable {
    /// Connects, and never says a word.
    case silent
    /// A header, an octet a second.
    case slowHeader = "slow_header"
    /// A body, an octet a second.
    case slowBody = "slow_body"
    /// Sends requests and reads no answer. (Filling the kernel's buffers on this machine would be a flood, not slow.)
    case slowReader = "slow_reader"
    /// The beginning of a ClientHello, an octet a second.
    case unfinishedHandshake = "unfinished_handshake"

    /// Those that there are against a listener.
    static func all(overTLS: Bool) -> [Attack] { allCases.filter { overTLS || $0 != .unfinishedHandshake } }

    /// Whether it comes as far as HTTP.
    var speaksHTTP: Bool { self != .silent && self != .unfinishedHandshake }

    var opening: ByteBuffer {
        switch self {
        case .silent: ByteBuffer()
        case .slowHeader: ByteBuffer(string: "POST /token HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        case .slowBody: ByteBuffer(bytes: TokenRequest.head(bodyLength: 60_000))
        case .slowReader: ByteBuffer(repeating: TokenRequest.head(bodyLength: 3) + Array("a=b".utf8), count: 4)
        // A record of 512 octets, RFC 8446 §5.1.
        case .unfinishedHandshake: ByteBuffer(bytes: [0x16, 3, 1, 2, 0, 1])
        }
    }

    /// What it sends each second.
    var drop: ByteBuffer? {
        switch self {
        case .silent: nil
        // A write detects that the broker closed the connection: a reader would first have to read all answers.
        case .slowReader, .slowHeader, .slowBody, .unfinishedHandshake: ByteBuffer(string: "a")
        }
    }
}

extension ByteBuffer {
    fileprivate init(repeating octets: [UInt8], count: Int) {
        self.init()
        for _ in 0..<count { writeBytes(octets) }
    }
}
