import StrictCoding

/// The payload of the id_token that an enrolment gives: what the identity provider said of the login (with `nonce`), under
/// this broker's `iss`, with `sid` and the device hash. `idp` names the identity provider; a token of ours without it is no
/// subject token. OpenID Connect Core §2, Native SSO §3.4.1.
struct EnrolledIDTokenClaims: Sendable {
    let issuer: Issuer
    let source: IDTokenClaims
    let issuedAt: UnixTime
    let expiresAt: UnixTime
    let sessionID: SessionID
    let device: DeviceValue
    /// Beside which the token is given; `nil`: none.
    let accessToken: String?
    /// Implied by the `alg` under which *this* token will be signed.
    let hashFunction: TokenHashFunction
    /// `cnf.jkt`: the key of the app in `aud`, and of no sibling that presents the token. RFC 7800 §3, RFC 9449 §6.1.
    let key: KeyThumbprint?

    /// Said anew here, or true of the other token only. `cnf` is this broker's word or nobody's: a key that the identity provider
    /// saw was not shown here.
    private static let replaced = [
        "iss", "sub", "aud", "azp", "iat", "exp", "nbf", "jti", "sid", "idp", "di_hash", "ds_hash", "auth_time", "acr",
        "amr", "at_hash", "c_hash", "s_hash", "cnf",
    ]

    var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", source.subject.string)
            object.member("aud", source.sourceClient.string)
            object.member("iat", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("sid", sessionID.string)
            object.member("idp", source.issuer.string)
            object.member(
                device.profile == .deviceID ? "di_hash" : "ds_hash", device.hash(function: hashFunction))
            if let accessToken { object.member("at_hash", hashFunction.leftHalf(of: accessToken)) }
            object.login(source.login)
            if let key { object.member("cnf", object: { $0.member("jkt", key.string) }) }
            for claim in source.claims.members where !Self.replaced.contains(where: claim.name.hasSameOctets) {
                object.member(claim.name, claim.value)
            }
        }
        return json.bytes
    }
}
