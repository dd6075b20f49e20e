/// What a request turned out to be about, for the event and the answer that tell of its refusal. Filled in on the way, as far as
/// it came.
public struct AuditSubject: Sendable, Hashable {
    /// The row of the session.
    public var session: UniqueID?
    public var grant: UniqueID?
    /// The app whose login it is; only one that is registered.
    public var sourceClient: ClientID?
    /// The identity provider of the login, as the verified id_token says: also where this broker signed that, so that its
    /// `audience` named this broker.
    public var provider: Issuer?

    public init(
        session: UniqueID? = nil, grant: UniqueID? = nil, sourceClient: ClientID? = nil, provider: Issuer? = nil
    ) {
        self.session = session
        self.grant = grant
        self.sourceClient = sourceClient
        self.provider = provider
    }
}
