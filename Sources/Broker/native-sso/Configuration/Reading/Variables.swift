/// The `NATIVE_SSO_…` variables of the environment. Every scalar key outside lists has one, named after its path.
final class Variables {
    static let prefix = "NATIVE_SSO_"

    private let values: [String: String]
    /// Every name that a key asked for, set or not.
    private var known: Set<String> = []

    init(_ environment: [String: String]) {
        values = environment.filter { $0.key.hasPrefix(Self.prefix) }
    }

    static func name(of path: String) -> String {
        prefix + path.uppercased().replacing(".", with: "_")
    }

    func value(of path: String) -> String? {
        let name = Self.name(of: path)
        known.insert(name)
        return values[name]
    }

    func isSet(_ path: String) -> Bool { values[Self.name(of: path)] != nil }

    /// Reports what is set and meant nothing. To be called when every key has been read.
    func reportUnknown(to problems: Problems) {
        for name in values.keys where !known.contains(name) {
            let suggestion = NearestName.of(name, among: known).map { "did you mean \($0)?" } ?? "unset it"
            problems.report(
                Place(origin: .variable(name), key: ""), "is not a variable of the configuration; \(suggestion)")
        }
    }
}

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
