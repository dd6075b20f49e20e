/// A client assertion that holds, as far as it was not used before. RFC 7523 §3.
public struct PresentedAssertion: Sendable, Hashable {
    public let id: AssertionID
    /// From then on it is refused for its age, so that its use need not be remembered.
    public let until: UnixTime

    public init(id: AssertionID, until: UnixTime) {
        self.id = id
        self.until = until
    }
}
