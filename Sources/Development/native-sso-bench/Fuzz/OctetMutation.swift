import BrokerTesting

/// Changes that know nothing of what they change.
enum OctetMutation {
    /// One to three changes.
    static func apply(to octets: inout [UInt8], _ random: inout SeededRandom) {
        for _ in 0...random.below(3) {
            let index = random.below(octets.count + 1)
            let end = min(octets.count, index + random.below(16))
            switch random.below(8) {
            case 0: octets.removeSubrange(index..<end)
            case 1: octets.insert(contentsOf: octets[index..<end], at: index)
            case 2: octets.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
            case 3 where random.oneIn(4): octets.removeSubrange(index...)
            case 4: octets.insert(telling[random.below(telling.count)], at: index)
            case 5 where index < octets.count: octets[index] ^= 1 << UInt8(random.below(8))
            case 6 where index < octets.count && end - 1 > index: octets.swapAt(index, end - 1)
            default: if index < octets.count { octets[index] = telling[random.below(telling.count)] }
            }
        }
    }

    /// What the grammars here are made of, and what breaks them.
    private static let telling = Array(
        "\0\t\r\n \"%&'+,-./0159:;<=>?@AEFZ[\\]_`aefz{|}~\u{7F}\u{E9}\u{212A}\u{FEFF}".utf8)
}
