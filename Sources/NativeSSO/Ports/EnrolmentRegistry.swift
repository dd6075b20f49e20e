/// Sessions that begin by enrolment: implemented by `Registry` on PostgreSQL.
public protocol EnrolmentRegistry: Sendable {
    /// Records a session if, and only if, every guard holds, in one statement, and returns what it saw either way.
    ///
    /// An id_token begins one session. Presented again with the same device value it leads to that session once more; with
    /// any other value, to nothing. What the request showed that is good once, a DPoP proof and a client's assertion, is used up
    /// in the same statement: by a refusal, too, and by no call that throws.
    func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts
}

/// What an enrolment asks of the registry.
public struct EnrolmentEntry: Sendable {
    /// How the id_token came. The raw value is what the audit shows.
    public enum Manner: String, Sendable {
        /// The app showed it.
        case exchange
        /// The broker got it from the identity provider, for the app's code.
        case code
    }

    public let requestID: UniqueID
    /// Of the identity provider: whose sharing groups count, and whose logout ends the session.
    public let issuer: Issuer
    /// The session as the identity provider names it; `nil`: it does not.
    public let providerSessionID: SessionID?
    public let subject: Subject
    /// The app that logged in, and asks.
    public let client: ClientID
    public let device: DeviceDigest
    public let profile: Profile
    public let manner: Manner
    public let token: EnrolledTokenDigest
    public let tokenIssuedAt: UnixTime
    /// When the id_token is refused for its age.
    public let tokenUsableUntil: UnixTime
    public let login: Login
    /// From now to the end of the session.
    public let lifetime: Seconds
    /// `false`: look, but record nothing, whatever the guards say, so that a refusal that only the broker can give costs the
    /// caller as much time as any other.
    public let isPermitted: Bool
    /// A session that is recorded pins its key, if pins are heeded.
    public let proof: PresentedProof?
    /// Whether the first key that this client shows on this device is the only one that it may show there.
    public let heedsPin: Bool
    public let assertion: PresentedAssertion?
    /// The name of a new session: `sid` of the broker's id_token. Unlike the identity provider's it is never used again.
    public let proposedSessionID: SessionID
    public let proposedRowID: UniqueID

    public init(
        requestID: UniqueID, issuer: Issuer, providerSessionID: SessionID?, subject: Subject, client: ClientID,
        device: DeviceDigest, profile: Profile, manner: Manner = .exchange, token: EnrolledTokenDigest,
        tokenIssuedAt: UnixTime, tokenUsableUntil: UnixTime, login: Login, lifetime: Seconds, isPermitted: Bool,
        proof: PresentedProof? = nil, heedsPin: Bool = false, assertion: PresentedAssertion? = nil,
        proposedSessionID: SessionID, proposedRowID: UniqueID
    ) {
        self.requestID = requestID
        self.issuer = issuer
        self.providerSessionID = providerSessionID
        self.subject = subject
        self.client = client
        self.device = device
        self.profile = profile
        self.manner = manner
        self.token = token
        self.tokenIssuedAt = tokenIssuedAt
        self.tokenUsableUntil = tokenUsableUntil
        self.login = login
        self.lifetime = lifetime
        self.isPermitted = isPermitted
        self.proof = proof
        self.heedsPin = heedsPin
        self.assertion = assertion
        self.proposedSessionID = proposedSessionID
        self.proposedRowID = proposedRowID
    }

    /// What is to be used up. The claim of a code has done so.
    public var unusedProof: PresentedProof? { manner == .code ? nil : proof }
}

/// What the registry saw, and what it wrote.
public struct EnrolmentFacts: Sendable {
    public let now: UnixTime
    public let clientIsEnabled: Bool
    public let membership: Membership?
    public let deviceIsBlocked: Bool
    /// Whether a session that came of the same session at the identity provider has ended, which is then taken to be over, too;
    /// or the provider has ended all that the user had when the id_token was issued.
    public let loginHasEnded: Bool
    /// Whether the id_token began a session that is another device's, or is over.
    public let tokenIsUsed: Bool
    /// The only key that this client may show on this device, as it stood before this call; `nil`: none is pinned yet, or pins
    /// are not heeded.
    public let pinnedKey: KeyThumbprint?
    /// Whether the proof was presented before, here or at another replica. Then nothing was recorded.
    public let proofWasUsed: Bool
    /// The same of the client's assertion. Then the proof was not used up.
    public let assertionWasUsed: Bool
    /// The session that was recorded, now or the first time; `nil`: none.
    public let session: EnrolledSession?

    public init(
        now: UnixTime, clientIsEnabled: Bool, membership: Membership?, deviceIsBlocked: Bool, loginHasEnded: Bool,
        tokenIsUsed: Bool, pinnedKey: KeyThumbprint? = nil, proofWasUsed: Bool = false, assertionWasUsed: Bool = false,
        session: EnrolledSession?
    ) {
        self.now = now
        self.clientIsEnabled = clientIsEnabled
        self.membership = membership
        self.deviceIsBlocked = deviceIsBlocked
        self.loginHasEnded = loginHasEnded
        self.tokenIsUsed = tokenIsUsed
        self.pinnedKey = pinnedKey
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.session = session
    }
}

public struct EnrolledSession: Sendable, Hashable {
    public let id: SessionID
    public let expiresAt: UnixTime

    public init(id: SessionID, expiresAt: UnixTime) {
        self.id = id
        self.expiresAt = expiresAt
    }
}
