import StrictCoding

/// The claims of one logout token, OpenID Connect Back-Channel Logout 1.0 §2.4.
struct LogoutToken {
    let issuer: String
    let clientID: String
    let session: EndedSession
    let issuedAt: Int64
    /// nil where id_tokens have none either.
    let sid: String?

    /// Seconds. §4.
    static let lifetime: Int64 = 120

    func signed(by key: SigningKey) throws -> String {
        var events = JSONObject()
        events["http://schemas.openid.net/event/backchannel-logout"] = .object(JSONObject())
        var json = JSONWriter()
        json.object { json in
            json.member("iss", issuer)
            json.member("sub", session.subject)
            json.member("aud", clientID)
            json.member("iat", issuedAt)
            json.member("exp", issuedAt + Self.lifetime)
            json.member("jti", RandomToken.make())
            if let sid { json.member("sid", sid) }
            json.member("events", .object(events))
        }
        return try key.sign(payload: json.bytes, type: "logout+jwt")
    }
}
