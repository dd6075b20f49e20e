import StrictCoding

/// The payload of an access token. RFC 9068 §2.2. There is no `act`: a function of the device value has no business at
/// a resource server.
struct AccessTokenClaims: Sendable {
    let issuer: Issuer
    let subject: Subject
    let audiences: [String]
    let client: ClientID
    let issuedAt: UnixTime
    let expiresAt: UnixTime
    let scope: Scope
    let login: Login
    let sessionID: SessionID?
    /// `cnf.jkt`. RFC 9449 §6.1.
    let key: KeyThumbprint?

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("iss", issuer.string)
            object.member("sub", subject.string)
            object.audience(audiences)
            object.member("client_id", client.string)
            object.member("iat", issuedAt.seconds)
            object.member("exp", expiresAt.seconds)
            object.member("jti", JWTID.random())
            object.member("scope", scope.description)
            object.login(login)
            if let sessionID { object.member("sid", sessionID.string) }
            if let key { object.member("cnf", object: { $0.member("jkt", key.string) }) }
        }
        return json.bytes
    }
}
