/// A token, secret or code as it was presented: it prints as `****`.
public struct Credential: Sendable, CustomStringConvertible, CustomReflectable {
    /// The text itself. Never for a log.
    public let secret: String

    public init(_ secret: String) { self.secret = secret }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
