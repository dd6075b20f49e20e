public import OAuthWire
import StrictCoding

/// The login in the shared keychain: the source client stores it, and the other apps exchange it.
public struct SharedLogin: Sendable {
    /// `subject_token` of every exchange. It may have expired: the session decides, not `exp` (Native SSO §6.3).
    public let idToken: Credential
    /// `actor_token` of every exchange.
    public let device: DeviceProof

    /// A login to share: the values of the source client's token response.
    public init(idToken: Credential, device: DeviceProof) {
        self.idToken = idToken
        self.device = device
    }

    /// The name of the keychain item.
    public static let item = "native-sso-login"

    /// The login in `keychain`; nil if it has none, or the item is not valid. Throws the keychain's error.
    public static func load(from keychain: any Keychain) async throws -> SharedLogin? {
        guard let bytes = try await keychain.item(item) else { return nil }
        return SharedLogin(bytes)
    }

    /// Stores the login and replaces an earlier one. Throws the keychain's error.
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
        case .accessToken, .refreshToken, .idToken, .idTokenHyphenated, .saml1, .saml2, .jwt, .webHandoff: return nil
        }
    }
}

/// The device value of an exchange, sent as `actor_token`. Its kind selects the profile.
public enum DeviceProof: Sendable {
    /// 2018 profile: `device_id`.
    case identifier(DeviceIdentifier)
    /// Current profile: `device_secret` (Native SSO §3.3).
    case secret(Credential)
    /// Current profile, with the token type of drafts 02 to 06.
    case transitionalSecret(Credential)

    var actorToken: String {
        switch self {
        case .identifier(let identifier): identifier.text
        case .secret(let secret), .transitionalSecret(let secret): secret.secret
        }
    }

    /// `actor_token_type` (RFC 8693 §2.1).
    public var tokenType: TokenTypeURI {
        switch self {
        case .identifier: .deviceID
        case .secret: .deviceSecret
        case .transitionalSecret: .deviceSecretTransitional
        }
    }
}
