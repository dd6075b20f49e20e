import StrictCoding

/// The claims of one access token, RFC 9068 §2.2.
struct AccessToken {
    let grant: Grant
    let user: User
    let scope: [String]
    let issuedAt: Int64

    func signed(by provider: Provider) throws -> String {
        let audience = provider.configuration.resources.filter { scope.contains($0.scope) }.map(\.audience)
        var json = JSONWriter()
        json.object { json in
            json.member("iss", provider.configuration.issuer)
            json.member("sub", grant.subject)
            // Without the scope of an API it opens userinfo and nothing else.
            json.member("aud", audience.isEmpty ? [provider.configuration.issuer] : audience)
            json.member("client_id", grant.clientID)
            json.member("iat", issuedAt)
            json.member("nbf", issuedAt)
            json.member("exp", issuedAt + provider.configuration.lifetimes.accessToken)
            json.member("jti", RandomToken.make())
            json.member("scope", scope.joined(separator: " "))
            json.member("auth_time", grant.authentication.at)
            json.member("acr", grant.authentication.contextClass.rawValue)
            json.member("amr", grant.authentication.contextClass.methods)
            if scope.contains("email") { json.member("email", user.email) }
            if !user.roles.isEmpty { json.member("roles", user.roles) }
        }
        return try provider.signingKeys.current.sign(payload: json.bytes, type: "at+jwt")
    }
}

/// The claims of one id_token, OpenID Connect Core §2, with those of Native SSO.
struct IDToken {
    let grant: Grant
    let user: User
    let nonce: String?
    /// For `at_hash`.
    let accessToken: String
    /// For `ds_hash`.
    let deviceSecret: String?
    let issuedAt: Int64

    func signed(by provider: Provider) throws -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("iss", provider.configuration.issuer)
            json.member("sub", grant.subject)
            json.member("aud", grant.clientID)
            json.member("iat", issuedAt)
            json.member("exp", issuedAt + provider.configuration.lifetimes.idToken)
            json.member("auth_time", grant.authentication.at)
            json.member("acr", grant.authentication.contextClass.rawValue)
            json.member("amr", grant.authentication.contextClass.methods)
            if grant.scope.contains("profile") { json.member("name", user.name) }
            if grant.scope.contains("email") { json.member("email", user.email) }
            if let nonce { json.member("nonce", nonce) }
            json.member("at_hash", LeftHalfHash.ofSHA256(accessToken))
            if provider.configuration.mode == .stamping { stamp(&json, provider.configuration.deviceSecretHash) }
        }
        return try provider.signingKeys.current.sign(payload: json.bytes, type: "JWT")
    }

    private func stamp(_ json: inout JSONWriter, _ deviceSecretHash: DeviceSecretHash) {
        json.member("sid", grant.sid)
        if let hash = grant.deviceIDHash { json.member("di_hash", hash) }
        if let deviceSecret { json.member("ds_hash", deviceSecretHash.hash(deviceSecret)) }
    }
}
