/// An exchange for the registry.
package struct Admission: Sendable {
    package let request: ExchangeRequest
    package let idToken: IDTokenClaims
    /// SHA-256 of the `sid` of the id_token.
    package let sid: [UInt8]
    package let checks: ExchangeChecks
    package let device: DeviceDigest
    /// Ids for the rows that the exchange may create.
    package let proposedGrantID: UniqueID
    package let proposedSessionRowID: UniqueID

    /// Every member of the id_token's `aud` except the source client.
    package var otherAudience: [ClientID] { idToken.audience.filter { $0 != idToken.sourceClient } }

    /// The lifetime of a session that begins with this exchange; `nil`: no session may begin.
    package var firstSightLifetime: Seconds? { checks.firstSightRefusal == nil ? request.issuer.sessionLifetime : nil }
}

extension Admission {
    /// Creates new ids with the time `milliseconds` since 1970.
    package init(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, sid: [UInt8], _ checks: ExchangeChecks,
        device: DeviceDigest, milliseconds: Int64
    ) {
        var randomness = PooledRandomness()
        let milliseconds = UInt64(clamping: milliseconds)
        let slot = UniqueID.slot(issuer: idToken.issuer, subject: idToken.subject)
        self.init(
            request: request, idToken: idToken, sid: sid, checks: checks, device: device,
            proposedGrantID: .timeOrdered(milliseconds: milliseconds, slot: slot, using: &randomness),
            proposedSessionRowID: .timeOrdered(milliseconds: milliseconds, slot: slot, using: &randomness))
    }
}

/// The facts that the registry read, and the rows that it wrote.
package struct AdmissionFacts: Sendable {
    package let now: UnixTime
    package let clientIsEnabled: Bool
    package let source: Membership?
    package let target: Membership?
    /// Whether each of ``Admission/otherAudience`` is in the source's group.
    package let otherAudienceInGroup: Bool
    /// `nil`: the session does not exist, and the registry created none.
    package let session: SessionFacts?
    package let deviceIsBlocked: Bool
    /// The bound key of this client on this device before this call; `nil`: no key, or the client has no key binding.
    package let boundKey: KeyThumbprint?
    /// Whether any replica has seen the proof before. Then the registry wrote nothing.
    package let proofWasUsed: Bool
    /// The same for the client's assertion.
    package let assertionWasUsed: Bool
    /// Whether reuse detection fired for this client in this session after the login of the id_token. Then the registry
    /// wrote nothing. The registry checks it last.
    package let needsLaterLogin: Bool
    /// Whether the identity provider has disabled the user's account. Read only where a session may begin: the event
    /// ended all live ones.
    package let accountIsDisabled: Bool
    /// Whether the id_token is from before the last end of all sessions at once. Then it begins and continues none.
    package let tokenIsCovered: Bool
    /// The recorded grant; `nil`: no grant was recorded.
    package let grant: GrantFacts?

    package init(
        now: UnixTime, clientIsEnabled: Bool, source: Membership?, target: Membership?, otherAudienceInGroup: Bool,
        session: SessionFacts?, deviceIsBlocked: Bool, boundKey: KeyThumbprint? = nil, proofWasUsed: Bool = false,
        assertionWasUsed: Bool = false, needsLaterLogin: Bool = false, accountIsDisabled: Bool = false,
        tokenIsCovered: Bool = false, grant: GrantFacts?
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
        self.accountIsDisabled = accountIsDisabled
        self.tokenIsCovered = tokenIsCovered
        self.grant = grant
    }
}
