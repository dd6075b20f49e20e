package import OAuthWire
import StrictCoding

/// What one development identity provider is.
package struct ProviderConfiguration: Sendable {
    /// `iss` of everything it signs, and the base of its endpoint addresses. No trailing slash.
    package var issuer: String
    /// 127.0.0.1 or ::1; nothing else is accepted.
    package var host: String
    package var port: Int
    package var mode: ProviderMode
    package var deviceSecretHash: DeviceSecretHash
    package var lifetimes: Lifetimes
    package var clients: [RegisteredClient]
    /// The APIs that its access tokens are for.
    package var resources: [ProtectedResource]

    package init(
        issuer: String? = nil, host: String = "127.0.0.1", port: Int, mode: ProviderMode = .stamping,
        deviceSecretHash: DeviceSecretHash = .leftHalf,
        lifetimes: Lifetimes = Lifetimes(), clients: [RegisteredClient], resources: [ProtectedResource] = []
    ) throws(ProviderError) {
        guard ["127.0.0.1", "::1"].contains(host) else { throw .notLoopback(host) }
        self.issuer = issuer ?? "http://\(host == "::1" ? "[::1]" : host):\(port)"
        self.host = host
        self.port = port
        self.mode = mode
        self.deviceSecretHash = deviceSecretHash
        self.lifetimes = lifetimes
        self.clients = clients
        self.resources = resources
    }

    func client(_ id: String) -> RegisteredClient? {
        clients.first { $0.id.hasSameOctets(as: id) }
    }
}

/// An API that takes access tokens.
package struct ProtectedResource: Sendable {
    /// Its name in `aud`.
    package let audience: String
    /// A grant of this scope gives access tokens for the API.
    package let scope: String

    package init(audience: String, scope: String) {
        self.audience = audience
        self.scope = scope
    }
}

/// An app that may log users in here.
package struct RegisteredClient: Sendable {
    /// `client_id`, RFC 6749 §2.2.
    package let id: String
    /// nil for a public client, which is what an app on a phone is (RFC 8252 §8.4).
    package let secret: Credential?
    package let redirectURIs: [RedirectURI]
    /// Where the browser may be sent after a logout; compared octet by octet (RP-Initiated Logout 1.0 §3).
    package let postLogoutRedirectURIs: [String]
    /// Where it hears of logouts (Back-Channel Logout 1.0 §2.2).
    package let backChannelLogoutURI: String?
    /// Whether the user is asked before it gets a scope for the first time. An app of the provider's own vendor need not ask.
    package let requiresConsent: Bool

    package init(
        id: String, secret: Credential? = nil, redirectURIs: [RedirectURI], postLogoutRedirectURIs: [String] = [],
        backChannelLogoutURI: String? = nil, requiresConsent: Bool = false
    ) {
        self.id = id
        self.secret = secret
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.backChannelLogoutURI = backChannelLogoutURI
        self.requiresConsent = requiresConsent
    }
}

/// What the provider knows of Native SSO.
package enum ProviderMode: String, Sendable, CaseIterable {
    /// Nothing: an ordinary OpenID provider. Its id_tokens carry no `sid` and no device hash; `device_id` and the scope
    /// `device_sso` mean nothing to it.
    case plain
    /// It stamps its id_tokens itself: `sid` with `di_hash` where the app sent a `device_id` (2018 profile), or with
    /// `ds_hash` where the granted scope holds `device_sso` (current profile, which also returns a `device_secret`).
    case stamping
}

/// How long things live, in seconds. Short values make expiry visible in a demonstration.
package struct Lifetimes: Sendable, Equatable {
    /// An authorization code. RFC 6749 §4.1.2 allows ten minutes; a local redirect needs far less.
    package var code: Int64 = 60
    package var idToken: Int64 = 300
    package var accessToken: Int64 = 300
    /// From the first token of a login; rotation does not extend it.
    package var refreshToken: Int64 = 30 * 86_400
    /// The browser's single sign-on session.
    package var session: Int64 = 12 * 3_600
    /// How long a login page may stay open.
    package var loginPage: Int64 = 600

    package init() {}
}
