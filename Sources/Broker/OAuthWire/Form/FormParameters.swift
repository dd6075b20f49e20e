/// The parameters of a form in their order. Holds credentials: it prints as `****`.
///
/// Names are ASCII (the decoder saw to it), so that `==` on them is equality of octets; they are case-sensitive.
public struct FormParameters: Sendable, CustomStringConvertible, CustomReflectable {
    typealias Pair = (name: String, value: String)

    private var pairs: [Pair] = []

    init() {}

    var count: Int { pairs.count }

    /// The value of a parameter that cannot repeat; `nil` where it is absent or empty, which is the same (RFC 6749 §3.2).
    public subscript(_ name: String) -> String? {
        guard let value = pairs.first(where: { $0.name == name })?.value, !value.isEmpty else { return nil }
        return value
    }

    /// Every value of a parameter that may repeat, empty ones included.
    public func values(of name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    /// Duplicates are found before empty values are dropped: `scope=&scope=x` is a duplicate. RFC 6749 §3.2.
    mutating func append(_ pair: Pair, _ rules: FormRules) throws(FormError) {
        if !rules.allowsRepetition(of: pair.name) {
            guard !pairs.contains(where: { $0.name == pair.name }) else { throw .duplicateParameter }
        }
        pairs.append(pair)
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
