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
