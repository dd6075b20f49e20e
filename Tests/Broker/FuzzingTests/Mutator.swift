import BrokerTesting

/// Bends inputs without any look at what they cover, and the same way every time.
struct Mutator {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// One of `seeds` after one to four changes, of which one in eight brings in a part of another.
    mutating func mutated(_ seeds: [[UInt8]]) -> [UInt8] {
        guard var octets = seeds.randomElement(using: &random) else { return [] }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0...octets.count, using: &random)
            let end = min(octets.count, index + Int.random(in: 0...16, using: &random))
            switch UInt8.random(in: 0..<8, using: &random) {
            case 0: octets.removeSubrange(index..<end)
            case 1: octets.insert(contentsOf: octets[index..<end], at: index)
            case 2: octets.insert(UInt8.random(in: .min ... .max, using: &random), at: index)
            case 3: octets.removeSubrange(index...)
            case 4: octets.insert(Self.telling.randomElement(using: &random) ?? 0, at: index)
            case 5 where index < octets.count: octets[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 6 where index < octets.count: octets[index] = Self.telling.randomElement(using: &random) ?? 0
            default:
                let other = seeds.randomElement(using: &random) ?? []
                let start = Int.random(in: 0...other.count, using: &random)
                octets.replaceSubrange(index..<end, with: other[start...].prefix(32))
            }
        }
        return octets
    }

    /// What the grammars here are made of.
    private static let telling = Array("\0\t\r\n \"%&'+,-./0159:;<=>?@AEFZ[\\]_`aefz{|}~\u{7F}é\u{212A}".utf8)
}
