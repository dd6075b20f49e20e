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
            }
        }
    }

    /// Which needles are in it, by the order in which they were added.
    func matches(in data: Data) -> Set<Int> {
        var found = Set(shortNeedles.filter { data.firstRange(of: Data(needles[$0])) != nil })
        data.withUnsafeBytes { octets in
            for start in stride(from: 0, through: octets.count - Self.wordLength, by: Self.wordLength) {
                let word = octets.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                // Most of a database's pages are empty.
                guard word != 0, let candidates = places[word] else { continue }
                for place in candidates where !found.contains(place.needle) {
                    let (first, needle) = (start - place.offset, needles[place.needle])
                    guard first >= 0, first + needle.count <= octets.count else { continue }
                    if octets[first..<first + needle.count].elementsEqual(needle) { found.insert(place.needle) }
                }
            }
        }
        return found
    }
}
