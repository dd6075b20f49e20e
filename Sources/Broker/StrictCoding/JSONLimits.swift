/// How large a document may be before the reader stops.
public struct JSONLimits: Sendable {
    /// How deep arrays and objects may nest; 1 allows `{}`. At most ``deepest``, whatever is set.
    public var depth: Int
    /// Members of all objects of the document together.
    public var members: Int
    /// Elements of all arrays of the document together.
    public var elements: Int

    /// The reader recurses once per level, so depth has a bound of its own.
    static let deepest = 64

    /// - Parameters:
    ///   - depth: 8: no token of ours or of an identity provider needs more than four.
    ///   - members: 128: large id_tokens have about forty.
    ///   - elements: 1024: group lists are long (one large provider sends up to 200), and an element is cheap.
    public init(depth: Int = 8, members: Int = 128, elements: Int = 1024) {
        self.depth = depth
        self.members = members
        self.elements = elements
    }

    /// For the header or the claims of a token.
    public static let `default` = JSONLimits()
}
