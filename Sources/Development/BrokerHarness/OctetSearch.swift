import Foundation

/// Searches for many octet strings in one pass: it compares eight octets at every eighth position.
///
/// One of the first eight words of a needle of 15 octets or more begins at a multiple of eight. The search looks for
/// shorter needles one by one.
struct OctetSearch: Sendable {
    private struct Place: Sendable {
        let needle: Int
        let offset: Int
    }

    private static let wordLength = 8
    private var needles: [[UInt8]] = []
    private var places: [UInt64: [Place]] = [:]
    /// One for each hash of a word in `places`. Most words of a file are ruled out without a look into the dictionary.
    private var isPlaced = [Bool](repeating: false, count: 1 << 16)
    private var shortNeedles: [Int] = []

    /// - Parameter needle: Not empty.
    mutating func add(_ needle: [UInt8]) {
        let index = needles.count
        needles.append(needle)
        guard needle.count >= 2 * Self.wordLength - 1 else {
            shortNeedles.append(index)
            return
        }
        needle.withUnsafeBytes { octets in
            for offset in 0..<Self.wordLength {
                let word = octets.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                places[word, default: []].append(Place(needle: index, offset: offset))
                isPlaced[Self.hash(word)] = true
            }
        }
    }

    /// Which needles are in it, by the order in which they were added.
    func matches(in data: Data) -> Set<Int> {
        var found = Set(shortNeedles.filter { data.firstRange(of: Data(needles[$0])) != nil })
        data.withUnsafeBytes { octets in
            isPlaced.withUnsafeBufferPointer { isPlaced in
                var start = 0
                while start <= octets.count - Self.wordLength {
                    let word = octets.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                    if isPlaced[Self.hash(word)] { compare(octets, at: start, word, &found) }
                    start += Self.wordLength
                }
            }
        }
        return found
    }

    private func compare(_ octets: UnsafeRawBufferPointer, at start: Int, _ word: UInt64, _ found: inout Set<Int>) {
        for place in places[word] ?? [] where !found.contains(place.needle) {
            let (first, needle) = (start - place.offset, needles[place.needle])
            guard first >= 0, first + needle.count <= octets.count else { continue }
            if octets[first..<first + needle.count].elementsEqual(needle) { found.insert(place.needle) }
        }
    }

    private static func hash(_ word: UInt64) -> Int { Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) >> 48) }
}
