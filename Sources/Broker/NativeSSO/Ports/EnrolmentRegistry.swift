/// Sessions that begin by enrolment: implemented by `Registry` on PostgreSQL.
package protocol EnrolmentRegistry: Sendable {
    /// Records a session only if every guard holds, in one statement. Always returns the facts.
    ///
    /// An id_token begins one session. With the same device value it leads to that session again; with any other value
    /// it is refused. The same statement consumes the DPoP proof and the client's assertion, also on a refusal. A call
    /// that throws consumes nothing.
    func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts
}

/// An enrolment for the registry.
package struct EnrolmentEntry: Sendable {
    /// The request, after the request checks.
    package let request: EnrolmentRequest
    /// The claims of the verified id_token.
    package let idToken: IDTokenClaims
    /// The result of the request checks.
    package let checks: EnrolmentChecks
    /// The digest of the id_token, which one enrolment consumes.
    package let token: EnrolledTokenDigest
    /// The digest of the device value.
    package let device: DeviceDigest
    /// The row of a new session.
    package let proposedRowID: UniqueID

    /// From then on the id_token is refused for its age.
    package var tokenUsableUntil: UnixTime { idToken.issuedAt.adding(EnrolmentChecks.maximumAge) }

    /// The proof to consume. The claim of a code has consumed its own.
    package var unusedProof: PresentedProof? { request.manner == .code ? nil : request.proof }
}

extension EnrolmentEntry {
    /// Creates new ids with the time `milliseconds` since 1970.
    init(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, _ checks: EnrolmentChecks, token: EnrolledTokenDigest,
        device: DeviceDigest, milliseconds: Int64
    ) {
        var randomness = SystemRandomNumberGenerator()
        self.init(
            request: request, idToken: idToken, checks: checks, token: token, device: device,
            proposedRowID: .timeOrdered(
                milliseconds: UInt64(clamping: milliseconds),
                slot: UniqueID.slot(issuer: idToken.issuer, subject: idToken.subject), using: &randomness))
    }
}

/// The facts that the registry read, and the rows that it wrote.
package struct EnrolmentFacts: Sendable {
    /// The database's clock.
    package let now: UnixTime
    /// Whether the client is enabled now.
    package let clientIsEnabled: Bool
    /// The client's membership in a group of the identity provider; `nil`: none.
    package let membership: Membership?
    /// Whether an operator has blocked the device.
    package let deviceIsBlocked: Bool
    /// Whether a session of the same IdP session has ended, which ends this login too; or the IdP has ended every
    /// session that the user had when the id_token was issued.
    package let loginHasEnded: Bool
    /// Whether the identity provider has disabled the user's account.
    package let accountIsDisabled: Bool
    /// Whether the id_token began a session of another device, or one that is over.
    package let tokenIsUsed: Bool
    /// The key bound to this client on this device before this call; `nil`: no key, or the client has no key binding.
    package let boundKey: KeyThumbprint?
    /// Whether the proof was presented before, here or at another replica. Then nothing was recorded.
    package let proofWasUsed: Bool
    /// The same for the client's assertion. The proof was not consumed then.
    package let assertionWasUsed: Bool
    /// The session that was recorded, now or the first time; `nil`: none.
    package let session: EnrolledSession?

    package init(
        now: UnixTime, clientIsEnabled: Bool, membership: Membership?, deviceIsBlocked: Bool, loginHasEnded: Bool,
        accountIsDisabled: Bool = false, tokenIsUsed: Bool, boundKey: KeyThumbprint? = nil, proofWasUsed: Bool = false,
        assertionWasUsed: Bool = false, session: EnrolledSession?
    ) {
        self.now = now
        self.clientIsEnabled = clientIsEnabled
        self.membership = membership
        self.deviceIsBlocked = deviceIsBlocked
        self.loginHasEnded = loginHasEnded
        self.accountIsDisabled = accountIsDisabled
        self.tokenIsUsed = tokenIsUsed
        self.boundKey = boundKey
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.session = session
    }
}

/// A session that an enrolment created.
package struct EnrolledSession: Sendable, Hashable {
    /// Its `sid` in the broker's tokens.
    package let id: SessionID
    /// Its absolute end.
    package let expiresAt: UnixTime

    package init(id: SessionID, expiresAt: UnixTime) {
        self.id = id
        self.expiresAt = expiresAt
    }
}
