/// A token request with an authorization code, RFC 6749 §4.1.3 and RFC 7636 §4.5.
struct CodeRedemption: Sendable {
    let code: String
    let clientID: String
    let redirectURI: String
    let verifier: String
    let device: DeviceIdentifier?
}

/// Why a code or refresh token was not honoured. All but the last are `invalid_grant` outside.
enum GrantRefusal: Error, Sendable {
    case unknown, expired, usedBefore, otherClient, otherRedirectURI, verifierMismatch, sessionEnded
    case scopeExceeded
}
