/// What a verified id_token says, with the shape rules of OpenID Connect Core §2 already kept.
public final class IDTokenClaims: Sendable {
    public let issuer: Issuer
    public let subject: Subject
    public let sessionID: SessionID
    /// `azp`, or the only member of `aud`: the app for which the id_token was made.
    public let sourceClient: ClientID
    /// Every member of `aud`.
    public let audience: [ClientID]
    public let issuedAt: UnixTime
    public let expiresAt: UnixTime
    public let login: Login
    /// `di_hash`, unchecked text.
    public let deviceIDHash: String?
    /// `ds_hash`, unchecked text.
    public let deviceSecretHash: String?
    /// Implied by the `alg` of the verified signature.
    public let hashFunction: TokenHashFunction
    /// `may_act.client_id`/`may_act.sub` where the token names who may act. RFC 8693 §4.4.
    public let mayAct: ClientID?

    public init(
        issuer: Issuer, subject: Subject, sessionID: SessionID, sourceClient: ClientID, audience: [ClientID],
        issuedAt: UnixTime, expiresAt: UnixTime, login: Login, deviceIDHash: String?, deviceSecretHash: String?,
        hashFunction: TokenHashFunction, mayAct: ClientID? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.sessionID = sessionID
        self.sourceClient = sourceClient
        self.audience = audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.login = login
        self.deviceIDHash = deviceIDHash
        self.deviceSecretHash = deviceSecretHash
        self.hashFunction = hashFunction
        self.mayAct = mayAct
    }

    /// The claim that binds the token to a device under `profile`.
    func deviceHash(for profile: Profile) -> String? {
        switch profile {
        case .deviceID: deviceIDHash
        case .deviceSecret, .deviceSecretTransitional: deviceSecretHash
        }
    }
}
