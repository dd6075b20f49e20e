import NativeSSOClient
import OAuthWire

/// What one walk through the login and its exchange is about.
enum DemonstratedProfile: Sendable {
    case deviceID
    case deviceSecret
    /// The current profile under the token type of its drafts 02 to 06. What follows the exchange is the same.
    case transitionalDeviceSecret
    /// The current profile at an identity provider that knows nothing of it: the broker makes the device secret.
    case enrolled

    /// The walks that show a profile that the broker accepts.
    static func all(of option: ProfileOption) -> [DemonstratedProfile] {
        switch option {
        case .deviceID: [.deviceID]
        case .deviceSecret: [.deviceSecret, .transitionalDeviceSecret, .enrolled]
        }
    }

    var title: String {
        switch self {
        case .deviceID: "2018 profile: device_id, di_hash, sid"
        case .deviceSecret: "current profile: device_secret, ds_hash, sid"
        case .transitionalDeviceSecret: "current profile, token type of the older drafts"
        case .enrolled: "an ordinary login, enrolled at the broker"
        }
    }

    /// Of the login.
    var scope: String {
        switch self {
        case .deviceID, .enrolled: "openid profile"
        case .deviceSecret, .transitionalDeviceSecret: "openid profile device_sso"
        }
    }

    /// How a public client says who it is.
    var identification: TokenEndpoint.Identification {
        switch self {
        case .deviceID: .basic
        case .deviceSecret, .transitionalDeviceSecret, .enrolled: .form
        }
    }

    /// The claim that binds the id_token to the device.
    var hashClaim: String {
        switch self {
        case .deviceID: "di_hash"
        case .deviceSecret, .transitionalDeviceSecret, .enrolled: "ds_hash"
        }
    }

    /// How the broker refuses a scope that needs consent.
    var consentRefusal: OAuthErrorCode {
        switch self {
        case .deviceID, .transitionalDeviceSecret: .invalidScope
        case .deviceSecret, .enrolled: .interactionRequired
        }
    }

    /// What no device has.
    var foreignDevice: DeviceProof {
        switch self {
        case .deviceID: .identifier(DeviceIdentifier())
        case .deviceSecret, .enrolled: .secret(Credential(DeviceIdentifier().text))
        case .transitionalDeviceSecret: .transitionalSecret(Credential(DeviceIdentifier().text))
        }
    }
}
