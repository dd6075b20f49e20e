package import OAuthWire

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
