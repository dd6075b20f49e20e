public import StrictCoding

/// The existing identity provider, as far as an enrolment needs it: implemented by `IdentityProvider`.
public protocol FreshIDTokenVerifier: Sendable {
    /// Verifies signature and claim shape of an id_token that was just issued: by a key that is in the issuer's key set now,
    /// since nothing old is to be accepted.
    ///
    /// Does not check: `exp`, the token's age, for whom it was issued, any device hash.
    func verifyFresh(
        _ idToken: SubjectToken, from issuer: Issuer, at now: UnixTime
    ) async throws(IDTokenVerificationError) -> FreshIDToken
}

/// What a verified id_token of a login says. Unlike ``IDTokenClaims`` it may lack `sid`: an identity provider that cannot
/// be changed need not know of sessions.
public struct FreshIDToken: Sendable {
    public let issuer: Issuer
    public let subject: Subject
    /// `sid`: the session at the identity provider, by which it tells of a logout.
    public let providerSessionID: SessionID?
    /// `azp`, or the only member of `aud`.
    public let client: ClientID
    /// Every member of `aud`.
    public let audience: [ClientID]
    public let issuedAt: UnixTime
    public let expiresAt: UnixTime
    public let login: Login
    /// `di_hash` and `ds_hash`, where the identity provider has bound the token to a device itself.
    public let deviceIDHash: String?
    public let deviceSecretHash: String?
    public let hashFunction: TokenHashFunction
    /// All claims, for those that go on into the broker's id_token.
    public let claims: JSONObject

    public init(
        issuer: Issuer, subject: Subject, providerSessionID: SessionID?, client: ClientID, audience: [ClientID],
        issuedAt: UnixTime, expiresAt: UnixTime, login: Login, deviceIDHash: String?, deviceSecretHash: String?,
        hashFunction: TokenHashFunction, claims: JSONObject = JSONObject()
    ) {
        self.issuer = issuer
        self.subject = subject
        self.providerSessionID = providerSessionID
        self.client = client
        self.audience = audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.login = login
        self.deviceIDHash = deviceIDHash
        self.deviceSecretHash = deviceSecretHash
        self.hashFunction = hashFunction
        self.claims = claims
    }
}

extension FreshIDToken {
    /// Whether the token belongs with the access token that came with it, as far as it says so: `at_hash` is optional in an
    /// answer of a token endpoint. OpenID Connect Core §3.1.3.8.
    func fits(accessToken: String) -> Bool {
        guard claims.contains("at_hash") else { return true }
        guard let hash = claims.string("at_hash") else { return false }
        return ConstantTime.equal(hash.utf8, hashFunction.leftHalf(of: accessToken).utf8)
    }
}
