/// What an exchange asks of the registry.
public struct Admission: Sendable {
    public let request: ExchangeRequest
    public let idToken: IDTokenClaims
    /// `sid` of the id_token.
    public let sessionID: SessionID
    public let checks: ExchangeChecks
    public let device: DeviceDigest
    /// Ids for the rows that the exchange may have to make.
    public let proposedGrantID: UniqueID
    public let proposedSessionRowID: UniqueID

    public init(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, sessionID: SessionID, _ checks: ExchangeChecks,
        device: DeviceDigest, proposedGrantID: UniqueID, proposedSessionRowID: UniqueID
    ) {
        self.request = request
        self.idToken = idToken
        self.sessionID = sessionID
        self.checks = checks
        self.device = device
        self.proposedGrantID = proposedGrantID
        self.proposedSessionRowID = proposedSessionRowID
    }

    /// With new ids, whose time is `milliseconds` since 1970.
    package init(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, sessionID: SessionID, _ checks: ExchangeChecks,
        device: DeviceDigest, milliseconds: Int64
    ) {
        var randomness = PooledRandomness()
        let milliseconds = UInt64(clamping: milliseconds)
        let slot = UniqueID.slot(issuer: idToken.issuer, subject: idToken.subject)
        self.init(
            request, idToken, sessionID: sessionID, checks, device: device,
            proposedGrantID: .timeOrdered(milliseconds: milliseconds, slot: slot, using: &randomness),
            proposedSessionRowID: .timeOrdered(milliseconds: milliseconds, slot: slot, using: &randomness))
    }

    /// Every member of the id_token's `aud` but the source client.
    public var otherAudience: [ClientID] { idToken.audience.filter { $0 != idToken.sourceClient } }

    /// From now to the end of a session that begins with this exchange; `nil`: none may begin.
    public var firstSightLifetime: Seconds? { checks.firstSightRefusal == nil ? request.issuer.sessionLifetime : nil }
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
    /// The key that was bound to this client on this device before this call; `nil`: none, or the client has no key binding.
    public let boundKey: KeyThumbprint?
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
        session: SessionFacts?, deviceIsBlocked: Bool, boundKey: KeyThumbprint? = nil, proofWasUsed: Bool = false,
        assertionWasUsed: Bool = false, needsLaterLogin: Bool = false, grant: GrantFacts?
    ) {
        self.now = now
        self.clientIsEnabled = clientIsEnabled
        self.source = source
        self.target = target
        self.otherAudienceInGroup = otherAudienceInGroup
        self.session = session
        self.deviceIsBlocked = deviceIsBlocked
        self.boundKey = boundKey
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.needsLaterLogin = needsLaterLogin
        self.grant = grant
    }
}
