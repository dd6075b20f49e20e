import BrokerTesting
import NIOCore
import NIOHPACK

/// What the server sends on one connection of HTTP/2: every frame is well formed, and comes where RFC 9113 allows it.
struct SentFrames {
    struct Answer: Equatable {
        let status: String
        var body: [UInt8] = []
        var isWhole = false
    }

    private(set) var answers: [UInt32: Answer] = [:]
    private(set) var octets = 0
    /// The streams that the server ends without an answer, or behind it.
    private(set) var resets: Set<UInt32> = []
    /// Whether the server has said that the connection ends.
    var isEnding: Bool { lastStream != nil }

    private var rest: [UInt8] = []
    private var hasBegun = false
    private var lastStream: UInt32?
    private var lengths: [UInt32: Int] = [:]
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())

    /// As large as a client can make it.
    init() { decoder.maxDynamicTableLength = Int(UInt32.max) }

    mutating func read(_ more: [UInt8]) throws {
        octets += more.count
        rest += more
        while let frame = RawFrame.take(from: &rest) {
            try hold(hasBegun || Self.isSettings(frame), "what comes first are no settings")
            hasBegun = true
            try take(frame)
        }
        try hold(rest.isEmpty, "a frame that is not whole")
    }

    private static func isSettings(_ frame: RawFrame) -> Bool {
        frame.kind == RawFrame.Kind.settings.rawValue && frame.flags == 0
    }

    private mutating func take(_ frame: RawFrame) throws {
        try hold(frame.payload.count <= RawFrame.largestPayload, "a frame that is too large")
        guard let kind = RawFrame.Kind(rawValue: frame.kind) else { throw Violation(description: "an unknown frame") }
        let count = frame.payload.count
        let isOfStream = frame.stream % 2 == 1
        switch kind {
        case .headers: try takeHead(frame)
        case .data: try takeBody(frame)
        case .reset:
            try hold(isOfStream && count == 4, "a reset that is none")
            try hold(resets.insert(frame.stream).inserted, "stream \(frame.stream) is reset twice")
        case .windowUpdate:
            try hold((isOfStream || frame.stream == 0) && count == 4, "a window that is none")
            try hold(frame.payload != [0, 0, 0, 0], "a window that grows by nothing")
        case .settings:
            try hold(frame.stream == 0 && (frame.flags == 1 ? count == 0 : count % 6 == 0), "settings that are none")
        case .ping: try hold(frame.stream == 0 && frame.flags == 1 && count == 8, "a ping that nobody sent")
        case .goAway: try takeGoAway(frame)
        case .priority, .continuation: throw Violation(description: "a frame that no server sends here: \(kind)")
        }
    }

    private mutating func takeHead(_ frame: RawFrame) throws {
        var octets = ByteBuffer(bytes: frame.payload)
        // Every block counts for the decoder.
        let block = try decoder.decodeHeaders(from: &octets)
        let isEnd = frame.flags & RawFrame.endStream != 0
        try hold(frame.flags & ~RawFrame.endStream == RawFrame.endHeaders, "a head over several frames")
        try holdIsOpen(frame)
        try hold(block.first?.name == ":status", "a head without a status")
        let status = block.first?.value ?? ""
        if status == "100" { return try hold(answers[frame.stream] == nil && !isEnd, "an interim answer at the end") }
        try hold(answers[frame.stream] == nil, "two answers on stream \(frame.stream)")
        try hold(Int(status).map { (200...599).contains($0) } == true, "no status: \(status)")
        lengths[frame.stream] = block.first(name: "content-length").flatMap(Int.init)
        answers[frame.stream] = Answer(status: status, isWhole: isEnd)
    }

    private mutating func takeBody(_ frame: RawFrame) throws {
        try holdIsOpen(frame)
        guard var answer = answers[frame.stream] else { throw Violation(description: "a body without a head") }
        answer.body += frame.payload
        answer.isWhole = frame.flags & RawFrame.endStream != 0
        answers[frame.stream] = answer
        let length = lengths[frame.stream] ?? -1
        try hold(
            answer.isWhole ? answer.body.count == length : answer.body.count < length, "a body of another length")
    }

    private func holdIsOpen(_ frame: RawFrame) throws {
        try hold(frame.stream % 2 == 1, "an answer to no request")
        try hold(!resets.contains(frame.stream), "an answer on stream \(frame.stream), which is reset")
        try hold(answers[frame.stream]?.isWhole != true, "more after the end of stream \(frame.stream)")
    }

    private mutating func takeGoAway(_ frame: RawFrame) throws {
        try hold(frame.stream == 0 && frame.payload.count >= 8, "an end that is none")
        let last = frame.payload.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        try hold(last <= lastStream ?? .max, "more streams are answered than was said before")
        lastStream = last
    }
}
