public import OAuthWire

/// What an app proves the device with: the `actor_token` of an exchange. Its kind is the profile.
public enum DeviceProof: Sendable {
    /// The 2018 profile.
    case identifier(DeviceIdentifier)
    /// The current profile: the identity provider made the secret.
    case secret(Credential)
    /// The current profile under the token type of drafts 02 to 06.
    case transitionalSecret(Credential)

    /// `actor_token`.
    var actorToken: String {
        switch self {
        case .identifier(let identifier): identifier.text
        case .secret(let secret), .transitionalSecret(let secret): secret.secret
        }
    }

    /// `actor_token_type`.
    public var tokenType: TokenTypeURI {
        switch self {
        case .identifier: .deviceID
        case .secret: .deviceSecret
        case .transitionalSecret: .deviceSecretTransitional
        }
    }
}
