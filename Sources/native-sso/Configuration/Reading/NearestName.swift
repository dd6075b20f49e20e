/// Finds what somebody meant who misspelled a name.
enum NearestName {
    /// The candidate with the fewest edits, if at most a third of the name is wrong.
    static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
        let limit = max(1, name.utf8.count / 3)
        return candidates.sorted()
            .map { (distance: distance(Array(name.utf8), Array($0.utf8)), candidate: $0) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?
            .candidate
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        guard !a.isEmpty, !b.isEmpty, a.count <= 64 else { return max(a.count, b.count) }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i]
            for j in 1...b.count {
                var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { best = min(best, beforeLast[j - 2] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
