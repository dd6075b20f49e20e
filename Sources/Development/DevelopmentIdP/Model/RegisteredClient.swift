public import OAuthWire

/// An app that may log users in here.
public struct RegisteredClient: Sendable {
    /// `client_id`, RFC 6749 §2.2.
    public let id: String
    /// nil for a public client, which is what an app on a phone is (RFC 8252 §8.4).
    public let secret: Credential?
    public let redirectURIs: [RedirectURI]
    /// Where the browser may be sent after a logout; compared octet by octet (RP-Initiated Logout 1.0 §3).
    public let postLogoutRedirectURIs: [String]
    /// Where it hears of logouts (Back-Channel Logout 1.0 §2.2).
    public let backChannelLogoutURI: String?

    public init(
        id: String, secret: Credential? = nil, redirectURIs: [RedirectURI], postLogoutRedirectURIs: [String] = [],
        backChannelLogoutURI: String? = nil
    ) {
        self.id = id
        self.secret = secret
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.backChannelLogoutURI = backChannelLogoutURI
    }
}
