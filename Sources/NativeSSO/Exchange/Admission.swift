/// What an exchange asks of the registry.
public struct Admission: Sendable {
    public let requestID: UniqueID
    public let issuer: Issuer
    public let sessionID: SessionID
    public let subject: Subject
    /// The app that logged in, and every other member of the id_token's `aud`.
    public let sourceClient: ClientID
    public let otherAudience: [ClientID]
    /// The app that asks.
    public let client: ClientID
    public let allowsSelfExchange: Bool
    public let device: DeviceDigest
    public let profile: Profile
    public let scope: Scope
    public let audiences: [String]
    public let login: Login
    /// `iat`: no login is younger than its id_token.
    public let tokenIssuedAt: UnixTime
    /// Longest time between two uses of the session.
    public let idleLimit: Seconds
    /// From now to the end of the grant; never beyond the session's.
    public let grantLifetime: Seconds?
    /// From now to the end of a session that this exchange may itself bring into the registry; `nil`: it may not.
    public let firstSightLifetime: Seconds?
    /// `false`: look, but write nothing, whatever the guards say. Used where the request is already refused for a reason
    /// that only the broker sees, so that such a refusal costs the caller as much time as any other.
    public let isPermitted: Bool
    /// Used up by this call, whatever becomes of the rest. A grant that is recorded is bound to its key; without one it is
    /// bound to none.
    public let proof: PresentedProof?
    /// Whether the first key that this client shows on this device is the only one that it may show there.
    public let heedsPin: Bool
    /// By which the client authenticated. Used up as the proof is.
    public let assertion: PresentedAssertion?
    /// Names for rows that may have to be made.
    public let proposedGrantID: UniqueID
    public let proposedSessionRowID: UniqueID

    public init(
        requestID: UniqueID, issuer: Issuer, sessionID: SessionID, subject: Subject, sourceClient: ClientID,
        otherAudience: [ClientID], client: ClientID, allowsSelfExchange: Bool, device: DeviceDigest,
        profile: Profile, scope: Scope, audiences: [String], login: Login, tokenIssuedAt: UnixTime,
        idleLimit: Seconds, grantLifetime: Seconds?, firstSightLifetime: Seconds?, isPermitted: Bool,
        proof: PresentedProof? = nil,
        heedsPin: Bool = false, assertion: PresentedAssertion? = nil, proposedGrantID: UniqueID,
        proposedSessionRowID: UniqueID
    ) {
        self.requestID = requestID
        self.issuer = issuer
        self.sessionID = sessionID
        self.subject = subject
        self.sourceClient = sourceClient
        self.otherAudience = otherAudience
        self.client = client
        self.allowsSelfExchange = allowsSelfExchange
        self.device = device
        self.profile = profile
        self.scope = scope
        self.audiences = audiences
        self.login = login
        self.tokenIssuedAt = tokenIssuedAt
        self.idleLimit = idleLimit
        self.grantLifetime = grantLifetime
        self.firstSightLifetime = firstSightLifetime
        self.isPermitted = isPermitted
        self.proof = proof
        self.heedsPin = heedsPin
        self.assertion = assertion
        self.proposedGrantID = proposedGrantID
        self.proposedSessionRowID = proposedSessionRowID
    }
}

/// What the registry saw, and what it wrote.
public struct AdmissionFacts: Sendable {
    public let now: UnixTime
    public let clientIsEnabled: Bool
    public let source: Membership?
    public let target: Membership?
    /// Whether each of ``Admission/otherAudience`` is in the source's group.
    public let otherAudienceInGroup: Bool
    /// `nil`: there is no such session, and none was made.
    public let session: SessionFacts?
    public let deviceIsBlocked: Bool
    /// The only key that this client may show on this device, as it stood before this call; `nil`: none is pinned yet, or pins
    /// are not heeded.
    public let pinnedKey: KeyThumbprint?
    /// Whether the proof was presented before, here or at another replica. Then nothing was written.
    public let proofWasUsed: Bool
    /// The same of the client's assertion.
    public let assertionWasUsed: Bool
    /// Whether a copy of this client's refresh token was used in this session, after the login that the id_token tells of. Then
    /// nothing was written. Looked at only where all else is in order.
    public let needsLaterLogin: Bool
    /// The grant that was recorded; `nil`: none was.
    public let grant: GrantFacts?

    public init(
        now: UnixTime, clientIsEnabled: Bool, source: Membership?, target: Membership?, otherAudienceInGroup: Bool,
        session: SessionFacts?, deviceIsBlocked: Bool, pinnedKey: KeyThumbprint? = nil, proofWasUsed: Bool = false,
        assertionWasUsed: Bool = false, needsLaterLogin: Bool = false, grant: GrantFacts?
    ) {
        self.now = now
        self.clientIsEnabled = clientIsEnabled
        self.source = source
        self.target = target
        self.otherAudienceInGroup = otherAudienceInGroup
        self.session = session
        self.deviceIsBlocked = deviceIsBlocked
        self.pinnedKey = pinnedKey
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.needsLaterLogin = needsLaterLogin
        self.grant = grant
    }
}
