import StrictCoding

/// The payload of an access token. RFC 9068 §2.2. It has no `act`, because no value derived from the device value may
/// reach a resource server.
struct AccessTokenClaims: Sendable {
    let issuer: Issuer
    /// The broker's name of the user.
    let subject: Subject
    /// `idp`: where the user logged in.
    let provider: Issuer
    let audiences: [String]
    let client: ClientID
    let issuedAt: UnixTime
    let expiresAt: UnixTime
    let scope: Scope
    let login: Login
    /// The broker's own name of the session. Unlike the IdP's `sid`, it says nothing to anyone but this broker.
    let session: UniqueID
    /// `cnf.jkt`. RFC 9449 §6.1.
    let key: KeyThumbprint?
    /// Claims of the login that the client's registration lists.
    let copied: CopiedClaims

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", subject.string)
            object.audience(audiences)
            object.member("client_id", client.string)
            object.member("iat", issuedAt.seconds)
            object.member("nbf", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("scope", scope.description)
            object.member("session_id", session.description)
            object.member("idp", provider.string)
            object.login(login)
            if let key { object.member("cnf", object: { $0.member("jkt", key.string) }) }
            for claim in copied.object.members { object.member(claim.name, claim.value) }
        }
        return json.bytes
    }

    /// The payload of the id_token that an exchange or a hand-off returns beside this access token. It has no `nonce`,
    /// because there was no authentication request. It has no `device_sso`, so this broker does not accept it as a
    /// subject token. Native SSO §4.3; OpenID Connect Core §2.
    /// - Parameters:
    ///   - device: The device value that it is bound to; `nil`: none, because its client is not on the device.
    ///   - hashFunction: The one that the `alg` of the id_token implies, for the device value.
    func siblingIDToken(
        in sessionID: SessionID, on device: DeviceValue? = nil, hashFunction: TokenHashFunction = .sha256
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", subject.string)
            object.member("aud", client.string)
            object.member("iat", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("sid", sessionID.string)
            object.member("idp", provider.string)
            if let device {
                object.member(
                    device.profile == .deviceID ? "di_hash" : "ds_hash", device.hash(function: hashFunction))
            }
            object.login(login)
        }
        return json.bytes
    }
}

/// The payload of the id_token that an enrolment issues. It copies the IdP's claims about the login, with `nonce`, and
/// adds this broker's `iss`, `sid` and the device hash. `idp` names the IdP. The broker accepts its own id_token as a
/// subject token only if it has `device_sso`, which says that sibling apps may use it. OpenID Connect Core §2, Native SSO
/// §3.4.1.
struct EnrolledIDTokenClaims: Sendable {
    let issuer: Issuer
    /// The broker's name of the user.
    let subject: Subject
    let source: IDTokenClaims
    let issuedAt: UnixTime
    let expiresAt: UnixTime
    let sessionID: SessionID
    let device: DeviceValue
    /// The access token that the app receives with it; `nil`: no access token.
    let accessToken: String?
    /// Implied by the `alg` under which *this* token will be signed.
    let hashFunction: TokenHashFunction
    /// `cnf.jkt`: the key of the app in `aud`, not of a sibling that presents the token. RFC 7800 §3, RFC 9449 §6.1.
    let key: KeyThumbprint?

    /// The claims that the broker does not copy: it sets them itself, or they describe only the IdP's token. `cnf` is
    /// among them, because the app proved that key to the IdP and not to the broker. `session_id` marks the broker's
    /// access tokens.
    private static let replaced = [
        "iss", "sub", "aud", "azp", "iat", "exp", "nbf", "jti", "sid", "idp", "di_hash", "ds_hash", "auth_time", "acr",
        "amr", "at_hash", "c_hash", "s_hash", "cnf", "session_id", "device_sso",
    ]

    var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", subject.string)
            object.member("aud", source.sourceClient.string)
            object.member("iat", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("sid", sessionID.string)
            object.member("idp", source.issuer.string)
            object.member("device_sso", true)
            object.member(device.profile == .deviceID ? "di_hash" : "ds_hash", device.hash(function: hashFunction))
            if let accessToken { object.member("at_hash", hashFunction.leftHalf(of: Array(accessToken.utf8))) }
            object.login(source.login)
            if let key { object.member("cnf", object: { $0.member("jkt", key.string) }) }
            for claim in source.claims.members where !Self.replaced.contains(where: claim.name.hasSameOctets) {
                object.member(claim.name, claim.value)
            }
        }
        return json.bytes
    }
}

/// `jti`: 128 random bits, base64url. RFC 7519 §4.1.7.
enum JWTID {
    static func random() -> String {
        var randomness = PooledRandomness()
        return Base64URL.encode(UniqueID.random(using: &randomness).octets)
    }
}

extension JSONWriter {
    /// One audience is a string, because some client SDKs require it; several are an array. RFC 7519 §4.1.3.
    mutating func audience(_ audiences: [String]) {
        if audiences.count == 1 {
            member("aud", audiences[0])
        } else {
            member("aud", audiences)
        }
    }

    mutating func login(_ login: Login) {
        if let authenticatedAt = login.authenticatedAt { member("auth_time", authenticatedAt.seconds) }
        if let contextClass = login.contextClass { member("acr", contextClass) }
        if !login.methods.isEmpty { member("amr", login.methods) }
    }
}
