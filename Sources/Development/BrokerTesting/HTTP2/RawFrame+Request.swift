extension RawFrame {
    /// A payload that every server takes. RFC 9113 §4.2.
    public static let largestPayload = 16_384

    /// The header block of a request, over as many frames as it needs. RFC 9113 §6.10.
    /// - Parameter isEnd: Whether no body follows.
    public static func head(_ fields: [(String, String)], stream: UInt32, isEnd: Bool) -> [RawFrame] {
        head(block: block(fields), stream: stream, isEnd: isEnd)
    }

    public static func head(block: [UInt8], stream: UInt32, isEnd: Bool) -> [RawFrame] {
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
