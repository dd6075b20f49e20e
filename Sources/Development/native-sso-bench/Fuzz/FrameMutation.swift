import BrokerTesting

/// Changes to what a client of HTTP/2 sends, frame by frame, and then octet by octet.
enum FrameMutation {
    /// A connection with one request, after one to three changes.
    static func octets(of message: FuzzMessage, _ random: inout SplitMix64) -> [UInt8] {
        var frames = [RawFrame(.settings)] + message.frames(on: 1)
        for _ in 0...random.below(3) {
            let (index, other) = (random.below(frames.count), random.below(frames.count))
            switch random.below(9) {
            case 0: frames.remove(at: index)
            case 1: frames.insert(frames[index], at: other)
            case 2: frames.swapAt(index, other)
            case 3: frames[index].stream = random.pick([0, 1, 2, 3, 5, 0x7FFF_FFFF, 0xFFFF_FFFF]) ?? 0
            case 4: frames[index].flags ^= 1 << UInt8(random.below(8))
            case 5: frames[index].kind = UInt8(random.below(12))
            case 6: OctetMutation.apply(to: &frames[index].payload, &random)
            default: frames.insert(strange(&random), at: index)
            }
            if frames.isEmpty { break }
        }
        var octets = RawFrame.preface + frames.flatMap(\.octets)
        if random.oneIn(4) { OctetMutation.apply(to: &octets, &random) }
        return octets
    }

    /// One that may come at any time, or never.
    private static func strange(_ random: inout SplitMix64) -> RawFrame {
        let number: UInt32 = random.pick([0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 16_384, 65_536]) ?? 0
        let stream = UInt32(random.below(4))
        switch random.below(8) {
        case 0: return RawFrame(.ping, flags: UInt8(random.below(2)), stream: stream, Array(repeating: 7, count: 8))
        case 1: return RawFrame(.windowUpdate, stream: stream, RawFrame.big(number))
        case 2: return RawFrame(.reset, stream: stream, RawFrame.big(8))
        case 3: return RawFrame(.settings, stream: stream, [0, UInt8(random.below(9))] + RawFrame.big(number))
        case 4: return RawFrame(.priority, stream: stream, RawFrame.big(stream) + [16])
        case 5: return RawFrame(.goAway, stream: stream, RawFrame.big(0) + RawFrame.big(0))
        case 6: return RawFrame(.continuation, flags: RawFrame.endHeaders, stream: stream, [0x82])
        default:
            return RawFrame(kind: UInt8(random.below(256)), flags: 0, stream: stream, payload: RawFrame.big(number))
        }
    }
}
