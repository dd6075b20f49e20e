import HTTPTypes
import Hummingbird
import OAuthWire
import StrictCoding

/// What the endpoints share.
struct Provider: Sendable {
    let configuration: ProviderConfiguration
    let users: UserDirectory
    let signingKeys: SigningKeys
    let state: ProviderState
    let sessionEndListeners: [any SessionEndListener]
    /// Seconds since 1970 (RFC 7519 §2 NumericDate).
    let now: @Sendable () -> Int64

    /// The scopes that mean something here.
    var supportedScopes: [String] {
        ["openid", "profile", "email", "offline_access"] + configuration.resources.map(\.scope)
            + (configuration.mode == .stamping ? ["device_sso"] : [])
    }

    var cookies: BrowserCookie { BrowserCookie(port: configuration.port) }

    func endSession(sid: String) async {
        guard let ended = await state.endSession(sid: sid) else { return }
        for listener in sessionEndListeners { await listener.sessionEnded(ended) }
    }
}

extension Provider {
    /// The client that sends a token request, RFC 6749 §2.3: by HTTP Basic (a public client with an empty password, as the
    /// 2018 profile does), or a public client by `client_id`.
    func client(of request: Request, _ form: FormParameters) throws(TokenError) -> RegisteredClient {
        let named = form[Parameter.clientID]
        let others = [Parameter.clientSecret, Parameter.clientAssertion, Parameter.clientAssertionType]
        guard others.allSatisfy({ form[$0] == nil }) else {
            throw TokenError(.invalidClient, "clients authenticate by HTTP Basic")
        }
        guard let authorization = request.headers[.authorization] else {
            guard let client = named.flatMap(configuration.client), client.secret == nil else {
                throw TokenError(.invalidClient, "unknown client, or one that has to authenticate")
            }
            return client
        }
        guard case .basic(let credentials) = AuthorizationHeader(authorization),
            let client = configuration.client(credentials.clientID),
            ConstantTime.equal((client.secret?.secret ?? "").utf8, (credentials.clientSecret?.secret ?? "").utf8)
        else { throw .basicAuthenticationFailed }
        if let named, !named.hasSameOctets(as: client.id) {
            throw TokenError(.invalidRequest, "client_id names another client")
        }
        return client
    }
}
