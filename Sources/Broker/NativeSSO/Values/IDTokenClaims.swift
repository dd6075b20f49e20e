package import StrictCoding

/// The claims of a verified id_token of a login, which satisfy the shape rules of OpenID Connect Core §2.
package final class IDTokenClaims: Sendable {
    /// The identity provider of the login, even if this broker signed the token.
    package let issuer: Issuer
    package let subject: Subject
    /// `sid`. Only an id_token for an enrolment may lack it: an IdP that cannot be changed may not know sessions.
    package let sessionID: SessionID?
    /// `azp`, or the only member of `aud`: the app for which the id_token was made.
    package let sourceClient: ClientID
    /// Every member of `aud`.
    package let audience: [ClientID]
    package let issuedAt: UnixTime
    package let expiresAt: UnixTime
    package let login: Login
    /// `di_hash`, unchecked text.
    package let deviceIDHash: String?
    /// `ds_hash`, unchecked text.
    package let deviceSecretHash: String?
    /// Implied by the `alg` of the verified signature.
    package let hashFunction: TokenHashFunction
    /// `may_act.client_id` or `may_act.sub`, if the token has `may_act`. RFC 8693 §4.4.
    package let mayAct: ClientID?
    /// Whether the key of the signature is in the issuer's key set now. A key that left it may have been stolen.
    package let isKeyCurrent: Bool
    /// All claims: an enrolment copies the rest of them into the broker's id_token.
    package let claims: JSONObject

    package init(
        issuer: Issuer, subject: Subject, sessionID: SessionID?, sourceClient: ClientID, audience: [ClientID],
        issuedAt: UnixTime, expiresAt: UnixTime, login: Login, deviceIDHash: String? = nil,
        deviceSecretHash: String? = nil, hashFunction: TokenHashFunction, mayAct: ClientID? = nil,
        isKeyCurrent: Bool = false, claims: JSONObject = JSONObject()
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
        self.isKeyCurrent = isKeyCurrent
        self.claims = claims
    }

    /// The claim that binds the token to a device under `profile`.
    func deviceHash(for profile: Profile) -> String? {
        switch profile {
        case .deviceID: deviceIDHash
        case .deviceSecret, .deviceSecretTransitional: deviceSecretHash
        }
    }

    /// Whether the IdP bound the token to no device, or to the device value shown. An attacker who found a token must
    /// not bind it to another device. A token that comes for a code cannot be found: it belongs to the device that has
    /// code and verifier, whatever value the IdP bound it to.
    func isBound(to device: DeviceValue?, mode: DeviceHashMode) -> Bool {
        if let deviceIDHash {
            return device?.matches(claim: deviceIDHash, function: hashFunction, mode: mode) == true
        }
        return deviceSecretHash == nil
    }

    /// Whether the token belongs to the access token that came with it. True if the token does not say: `at_hash` is
    /// optional in a token endpoint's answer. OpenID Connect Core §3.1.3.8.
    func fits(accessToken: String) -> Bool {
        guard claims.contains("at_hash") else { return true }
        guard let hash = claims.string("at_hash") else { return false }
        return ConstantTime.equal(hash.utf8, hashFunction.leftHalf(of: Array(accessToken.utf8)).utf8)
    }
}
