import StrictCoding

/// The payload of an id_token that an exchange returns to the app that asked for one: the same login, made for this app.
/// It carries `sid` and the device hash, as Native SSO has it for every id_token of a device session; but this broker takes
/// none of these as a subject token, only those of a login: an identity provider's, or its own of an enrolment. There is no
/// `nonce`, since there was no authentication request. Native SSO §4.3; OpenID Connect Core §2.
struct SiblingIDTokenClaims: Sendable {
    let issuer: Issuer
    let subject: Subject
    let audience: ClientID
    let issuedAt: UnixTime
    let expiresAt: UnixTime
    let sessionID: SessionID
    let login: Login
    let device: DeviceValue
    /// Implied by the `alg` under which *this* token will be signed.
    let hashFunction: TokenHashFunction

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", subject.string)
            object.member("aud", audience.string)
            object.member("iat", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("sid", sessionID.string)
            object.member(
                device.profile == .deviceID ? "di_hash" : "ds_hash", device.hash(function: hashFunction))
            object.login(login)
        }
        return json.bytes
    }
}
