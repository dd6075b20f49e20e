/// Token type identifiers: RFC 8693 §3, and those of Native SSO.
public enum TokenTypeURI: String, Sendable, CaseIterable {
    case accessToken = "urn:ietf:params:oauth:token-type:access_token"
    case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    case idToken = "urn:ietf:params:oauth:token-type:id_token"
    case saml1 = "urn:ietf:params:oauth:token-type:saml1"
    case saml2 = "urn:ietf:params:oauth:token-type:saml2"
    case jwt = "urn:ietf:params:oauth:token-type:jwt"
    /// A slip in the examples of the 2018 slides and of drafts 02 to 07; their text says `id_token`.
    case idTokenHyphenated = "urn:ietf:params:oauth:token-type:id-token"
    /// The 2018 profile.
    case deviceID = "urn:x-oath:params:oauth:token-type:device-id"
    /// Drafts 02 to 06.
    case deviceSecretTransitional = "urn:x-oath:params:oauth:token-type:device-secret"
    /// Draft 07.
    case deviceSecret = "urn:openid:params:token-type:device-secret"
}
