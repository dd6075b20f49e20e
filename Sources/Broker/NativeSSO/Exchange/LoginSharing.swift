/// Whether one app may use the logins of another, as far as their registration decides it: the very rules of an exchange,
/// asked about a login and a request with which nothing is wrong.
///
/// Does not say: what the app's next login, its device or its request will be refused for.
public struct LoginSharing: Sendable {
    /// The first rule that says no; `nil`: it may.
    public let refusal: ExchangeRefusal?
    /// What an exchange would grant.
    public let scope: Scope

    /// - Parameters:
    ///   - source: The app that logged in, and its place at this issuer.
    ///   - target: The app that would use the login, and its place.
    ///   - scope: What the app would ask for; `nil`: nothing, so that it gets its default.
    public init(
        of source: (client: ClientID, membership: Membership?), with target: (client: Client, membership: Membership?),
        at issuer: IssuerPolicy, profile: Profile, scope: Scope?, scopesRequiringConsent: Scope, now: UnixTime
    ) {
        let device = DeviceValue(octets: [UInt8](repeating: UInt8(ascii: "A"), count: 43), profile: profile)
        let mode = profile == .deviceID ? DeviceHashMode.leftHalf : issuer.hashMode
        let hash = device.hash(function: .sha256, mode: mode)
        let anyID = UniqueID(high: 0, low: 0)
        let subject = Subject(validated: "anybody")
        let sessionID = SessionID(validated: "any")
        let request = ExchangeRequest(
            requestID: anyID, client: target.client, issuer: issuer, subjectToken: SubjectToken(""), device: device,
            scope: scope)
        let idToken = IDTokenClaims(
            issuer: issuer.issuer, subject: subject, sessionID: sessionID,
            sourceClient: source.client, audience: [source.client], issuedAt: now, expiresAt: now.adding(1),
            login: Login(authenticatedAt: now, contextClass: target.client.acceptedContextClasses.first),
            deviceIDHash: hash, deviceSecretHash: hash, hashFunction: .sha256)
        let checks = ExchangeChecks(
            of: request, idToken, deviceHash: hash, scopesRequiringConsent: scopesRequiringConsent, idleLimit: 1,
            at: now)
        let asked = Admission(
            request, idToken, sessionID: sessionID, checks,
            device: DeviceDigest(validated: [UInt8](repeating: 0, count: 32)),
            proposedGrantID: anyID, proposedSessionRowID: anyID)
        let facts = AdmissionFacts(
            now: now, clientIsEnabled: target.client.isEnabled, source: source.membership, target: target.membership,
            otherAudienceInGroup: true,
            session: SessionFacts(
                id: anyID, subject: subject, endedAt: nil, expiresAt: now.adding(1), lastUsedAt: now),
            deviceIsBlocked: false, grant: nil)
        self.refusal = NativeSSO.refusal(asked, facts)
        self.scope = checks.scope
    }
}
