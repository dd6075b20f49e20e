/// Where a key is in its life. It only ever moves forward.
public enum KeyState: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Made, and known to nobody.
    case pending
    /// Everybody may verify with it: shown in the JWKS, accepted in refresh tokens. It makes nothing yet.
    case published
    /// What is made is made with this key; at most one per use.
    case active
    /// It makes nothing any more, but what it made is still good.
    case retired
    /// Gone: nothing it made is good.
    case removed

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (a: KeyState, b: KeyState) -> Bool { a.order < b.order }

    /// Whether what this key made is accepted.
    public var verifies: Bool { self == .published || self == .active || self == .retired }
}
