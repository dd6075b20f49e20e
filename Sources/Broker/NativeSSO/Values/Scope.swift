/// A set of scope tokens in the order in which they were first named. RFC 6749 §3.3.
public struct Scope: Hashable, Sendable, CustomStringConvertible {
    public let tokens: [String]

    /// Collapses duplicates. The caller has checked each token's characters (%x21 / %x23-5B / %x5D-7E).
    public init(_ tokens: some Sequence<String>) {
        var seen = Set<String>()
        self.tokens = tokens.filter { seen.insert($0).inserted }
    }

    public static let empty = Scope([])

    public var isEmpty: Bool { tokens.isEmpty }

    public func contains(_ token: String) -> Bool { tokens.contains(token) }

    public func isSubset(of other: Scope) -> Bool { tokens.allSatisfy(other.tokens.contains) }

    public func isDisjoint(with other: Scope) -> Bool { !tokens.contains(where: other.tokens.contains) }

    public func intersection(_ other: Scope) -> Scope { Scope(tokens.filter(other.tokens.contains)) }

    public func removing(_ token: String) -> Scope { Scope(tokens.filter { $0 != token }) }

    /// The form in which it travels: tokens separated by single spaces.
    public var description: String { tokens.joined(separator: " ") }

    /// Order does not matter (RFC 6749 §3.3).
    public static func == (a: Scope, b: Scope) -> Bool { Set(a.tokens) == Set(b.tokens) }

    public func hash(into hasher: inout Hasher) { hasher.combine(Set(tokens)) }
}
