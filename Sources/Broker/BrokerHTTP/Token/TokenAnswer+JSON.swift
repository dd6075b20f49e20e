import NativeSSO
import OAuthWire
import StrictCoding

extension TokenAnswer {
    /// The body. `scope` stands beside every access token of the broker, so the app need not remember its request.
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
            if let providerIDToken { json.member("idp_id_token", providerIDToken) }
            if let deviceSecret { json.member("device_secret", deviceSecret) }
        }
        return json.bytes
    }

    private var tokenType: TokenType {
        switch issued {
        case .idToken, .webHandoff: .notApplicable
        case .accessToken, nil: isBound ? .dpop : .bearer
        }
    }
}

extension TokenAnswer.Issued {
    fileprivate var type: TokenTypeURI {
        switch self {
        case .accessToken: .accessToken
        case .idToken: .idToken
        case .webHandoff: .webHandoff
        }
    }
}

extension AuthorizationRequest {
    /// A request to the identity provider for the login that an exchange lacks: by the same client, for the same scope,
    /// under the client's login policy.
    ///
    /// The app adds `redirect_uri`, `state`, `nonce` and its PKCE challenge, which only the app knows.
    init(of request: ExchangeRequest, to endpoint: String, maximumAuthenticationAge: Seconds?) {
        let scope = request.loginScope
        // OpenID Connect Core §3.1.2.1: without it the answer has no id_token.
        let tokens = (scope.contains("openid") ? [] : ["openid"]) + scope.tokens
        self.init(to: endpoint, clientID: request.client.id.string, scope: Scope(tokens).description)
        demand(contextClasses: request.client.acceptedContextClasses, maximumAge: maximumAuthenticationAge?.count)
    }
}

extension ExchangeRefusal {
    /// Whether a login in the browser helps. Native SSO §4.4.
    var needsUser: Bool { self == .consentRequired || self == .assuranceInsufficient || self == .loginAfterReplay }

    /// The maximum age of the login that helps. After a theft it is 0, whatever the client's policy: otherwise a thief
    /// with the device could return with the existing login. OpenID Connect Core §3.1.2.1 (`max_age`).
    func maximumAuthenticationAge(for client: Client) -> Seconds? {
        self == .loginAfterReplay ? 0 : client.maximumAuthenticationAge
    }
}
