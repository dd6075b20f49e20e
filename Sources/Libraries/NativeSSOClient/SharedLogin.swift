public import OAuthWire
import StrictCoding

/// The login in the shared keychain: the source client stores it, and the other apps exchange it.
public struct SharedLogin: Sendable {
    /// `subject_token` of every exchange. It may have expired: the session decides, not `exp` (Native SSO §6.3).
    public let idToken: Credential
    /// `actor_token` of every exchange.
    public let device: DeviceProof
    /// The IdP's own id_token of an enrolled login, for `id_token_hint` at its logout page; nil if it is ``idToken``, or
    /// unknown.
    public let providerIDToken: Credential?

    /// A login to share: the values of the source client's token response.
    public init(idToken: Credential, device: DeviceProof, providerIDToken: Credential? = nil) {
        self.idToken = idToken
        self.device = device
        self.providerIDToken = providerIDToken
    }

    /// The name of the keychain item.
    public static let item = "native-sso-login"

    /// The login in `keychain`; nil if it has none. Throws ``KeychainItemDefect``, or the keychain's error.
    public static func load(from keychain: any Keychain) async throws -> SharedLogin? {
        try await keychain.item(item).map(SharedLogin.init)
    }

    /// As ``load(from:)``, with the revision of the item, and with errors as an app gets them.
    static func stored(
        in keychain: any Keychain
    ) async throws(ClientError) -> (login: SharedLogin, revision: ItemRevision)? {
        let bytes: [UInt8]
        do {
            guard let found = try await keychain.item(item) else { return nil }
            bytes = found
        } catch {
            throw .keychain(error)
        }
        do throws(KeychainItemDefect) {
            return (try SharedLogin(bytes), ItemRevision(of: bytes))
        } catch {
            throw .keychainItem(error)
        }
    }

    /// Stores the login and replaces an earlier one. Throws the keychain's error.
    public func save(to keychain: any Keychain) async throws { try await keychain.setItem(Self.item, bytes) }

    /// The item's content.
    var bytes: [UInt8] {
        KeychainItem.write { json in
            json.member("id_token", idToken.secret)
            json.member("device", device.actorToken)
            json.member("device_type", device.tokenType.rawValue)
            if let providerIDToken { json.member("idp_id_token", providerIDToken.secret) }
        }
    }

    init(_ bytes: [UInt8]) throws(KeychainItemDefect) {
        let json = try KeychainItem.read(bytes)
        guard let idToken = json.string("id_token"), !idToken.isEmpty, let actorToken = json.string("device"),
            let type = json.string("device_type").flatMap(TokenTypeURI.init(octets:)),
            let device = DeviceProof(actorToken, type)
        else { throw .corrupt }
        self.init(
            idToken: Credential(idToken), device: device,
            providerIDToken: json.string("idp_id_token").map(Credential.init))
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

    fileprivate init?(_ actorToken: String, _ type: TokenTypeURI) {
        switch type {
        case .deviceID:
            guard let identifier = DeviceIdentifier(actorToken) else { return nil }
            self = .identifier(identifier)
        case .deviceSecret: self = .secret(Credential(actorToken))
        case .deviceSecretTransitional: self = .transitionalSecret(Credential(actorToken))
        case .accessToken, .refreshToken, .idToken, .idTokenHyphenated, .saml1, .saml2, .jwt, .webHandoff: return nil
        }
    }

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
