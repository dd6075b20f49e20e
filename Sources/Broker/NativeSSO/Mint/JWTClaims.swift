import StrictCoding

/// `jti`: 128 random bits, base64url. RFC 7519 §4.1.7.
enum JWTID {
    static func random() -> String {
        var randomness = PooledRandomness()
        return Base64URL.encode(UniqueID.random(using: &randomness).octets)
    }
}

extension JSONWriter {
    /// One audience as a plain string, which some client SDKs insist on; several as an array. RFC 7519 §4.1.3.
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
