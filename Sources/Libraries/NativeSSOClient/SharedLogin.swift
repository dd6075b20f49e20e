public import OAuthWire
import StrictCoding

/// What the first app leaves in the shared keychain: one login, and the proof of the device it happened on.
public struct SharedLogin: Sendable {
    /// `subject_token` of every exchange. May be long expired: the session decides, not `exp`.
    public let idToken: Credential
    public let device: DeviceProof

    public init(idToken: Credential, device: DeviceProof) {
        self.idToken = idToken
        self.device = device
    }

    /// The name of the item.
    public static let item = "native-sso-login"

    /// The login in `keychain`; nil if nobody has logged in, or what lies there is not a login.
    public static func load(from keychain: any Keychain) async throws -> SharedLogin? {
        guard let bytes = try await keychain.item(item) else { return nil }
        return SharedLogin(bytes)
    }

    public func save(to keychain: any Keychain) async throws {
        var json = JSONWriter()
        json.object { json in
            json.member("id_token", idToken.secret)
            json.member("device", device.actorToken)
            json.member("device_type", device.tokenType.rawValue)
        }
        try await keychain.setItem(Self.item, json.bytes)
    }

    private init?(_ bytes: [UInt8]) {
        guard let json = (try? JSONReader.parse(bytes))?.object, let idToken = json.string("id_token"),
            let device = json.string("device"),
            let type = json.string("device_type").flatMap(TokenTypeURI.init(rawValue:))
        else { return nil }
        self.idToken = Credential(idToken)
        switch type {
        case .deviceID:
            guard let identifier = DeviceIdentifier(device) else { return nil }
            self.device = .identifier(identifier)
        case .deviceSecret: self.device = .secret(Credential(device))
        case .deviceSecretTransitional: self.device = .transitionalSecret(Credential(device))
        case .accessToken, .refreshToken, .idToken, .idTokenHyphenated, .saml1, .saml2, .jwt: return nil
        }
    }
}

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
