import NativeSSO
import OAuthWire
import StrictCoding

extension TokenAnswer {
    /// The body. `scope` stands beside every access token of ours, so that the app need not remember what it asked for.
    var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 512 + accessToken.utf8.count + (idToken?.utf8.count ?? 0))
        json.object { json in
            json.member("access_token", accessToken)
            if let issued { json.member("issued_token_type", issued.type.rawValue) }
            json.member("token_type", tokenType.rawValue)
            if let expiresIn { json.member("expires_in", expiresIn.count) }
            if let scope { json.member("scope", scope) }
            if let refreshToken { json.member("refresh_token", refreshToken) }
            if let idToken { json.member("id_token", idToken) }
            if let deviceSecret { json.member("device_secret", deviceSecret) }
        }
        return json.bytes
    }

    private var tokenType: TokenType {
        if case .idToken = issued { return .notApplicable }
        return isBound ? .dpop : .bearer
    }
}

extension TokenAnswer.Issued {
    fileprivate var type: TokenTypeURI {
        switch self {
        case .accessToken: .accessToken
        case .idToken: .idToken
        }
    }
}

extension AuthorizationRequest {
    /// What an exchange lacks and the user could give, as a request to the identity provider: by the client that asked, for
    /// the scope that it asked for, by a login as its policy demands.
    ///
    /// The app adds what only it knows: `redirect_uri`, `state`, `nonce` and its PKCE challenge.
    init(of request: ExchangeRequest, to endpoint: String, maximumAuthenticationAge: Seconds?) {
        let scope = request.loginScope
        // OpenID Connect Core §3.1.2.1: without it there would be no id_token.
        let tokens = (scope.contains("openid") ? [] : ["openid"]) + scope.tokens
        self.init(to: endpoint, clientID: request.client.id.string, scope: Scope(tokens).description)
        demand(
            contextClasses: request.client.acceptedContextClasses,
            maximumAge: maximumAuthenticationAge?.count)
    }
}

extension ExchangeRefusal {
    /// Whether a login in the browser mends it. Native SSO §4.4.
    var needsUser: Bool { self == .consentRequired || self == .assuranceInsufficient || self == .loginAfterReplay }

    /// How old the login may be that mends it. After a theft it is a new one, whatever the client's policy: whoever has the device
    /// would else come back with the login that is there. OpenID Connect Core §3.1.2.1 (`max_age`).
    func maximumAuthenticationAge(for client: Client) -> Seconds? {
        self == .loginAfterReplay ? 0 : client.maximumAuthenticationAge
    }
}
