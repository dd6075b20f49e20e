/// What a request turned out to be about, for the event that tells of its refusal. Filled in on the way, as far as it came.
public struct AuditSubject: Sendable, Hashable {
    /// The row of the session.
    public var session: UniqueID?
    public var grant: UniqueID?
    /// The app whose login it is; only one that is registered.
    public var sourceClient: ClientID?

    public init(session: UniqueID? = nil, grant: UniqueID? = nil, sourceClient: ClientID? = nil) {
        self.session = session
        self.grant = grant
        self.sourceClient = sourceClient
    }
}
