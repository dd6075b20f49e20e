import BrokerHarness
import NativeSSOClient
import OAuthWire

/// What one walk through the login and its exchange is about.
enum DemonstratedProfile: Sendable, CaseIterable {
    case deviceID
    case deviceSecret
    /// The current profile under the token type of its drafts 02 to 06. What follows the exchange is the same.
    case transitionalDeviceSecret
    /// The current profile at an identity provider that knows nothing of it: the broker makes the device secret.
    case enrolled
    /// The same, but the app takes its code to the broker, which redeems it.
    case redeemed

    /// The walks that show a profile that the broker accepts.
    static func all(of option: ProfileOption) -> [DemonstratedProfile] {
        switch option {
        case .deviceID: [.deviceID]
        case .deviceSecret: [.deviceSecret, .transitionalDeviceSecret, .enrolled, .redeemed]
        }
    }

    var title: String {
        switch self {
        case .deviceID: "2018 profile: device_id, di_hash, sid"
        case .deviceSecret: "current profile: device_secret, ds_hash, sid"
        case .transitionalDeviceSecret: "current profile, token type of the older drafts"
        case .enrolled: "an ordinary login, enrolled at the broker by its id_token"
        case .redeemed: "an ordinary login, enrolled at the broker by its code"
        }
    }

    /// Above its column of the table.
    var label: String {
        switch self {
        case .deviceID: "2018"
        case .deviceSecret: "current"
        case .transitionalDeviceSecret: "drafts 02–06"
        case .enrolled: "enrolled by id_token"
        case .redeemed: "enrolled by code"
        }
    }

    /// What a login asks for beside the usual.
    var extraScope: String {
        switch self {
        case .deviceID, .enrolled, .redeemed: ""
        case .deviceSecret, .transitionalDeviceSecret: " device_sso"
        }
    }

    /// Step 0 of the profile's drawing: who makes the device value.
    var deviceValue: String {
        switch self {
        case .deviceID: "app-one makes a device identifier"
        case .deviceSecret, .transitionalDeviceSecret:
            "app-one will ask for the scope device_sso: the IdP makes the device secret"
        case .enrolled, .redeemed: "app-one asks for no device secret: its IdP would not know what that is"
        }
    }

    /// Step 7.
    var redemption: String {
        switch self {
        case .deviceID: "app-one redeems the code and sends its device identifier"
        case .deviceSecret, .transitionalDeviceSecret: "app-one redeems the code"
        case .enrolled: "app-one redeems the code and enrols the id_token at the broker"
        case .redeemed: "app-one sends its code to the broker, which redeems it at the IdP"
        }
    }

    var nativeProfile: NativeProfile {
        switch self {
        case .deviceID: .deviceID
        case .transitionalDeviceSecret: .transitional
        case .deviceSecret, .enrolled, .redeemed: .deviceSecret
        }
    }

    /// The device value of a login as it is sent.
    func deviceText(of login: SharedLogin) -> String {
        switch login.device {
        case .identifier(let identifier): identifier.text
        case .secret(let secret), .transitionalSecret(let secret): secret.secret
        }
    }

    /// Whether the id_token that the apps share is the broker's.
    var isEnrolled: Bool {
        switch self {
        case .deviceID, .deviceSecret, .transitionalDeviceSecret: false
        case .enrolled, .redeemed: true
        }
    }

    /// How a public client says who it is.
    var identification: TokenEndpoint.Identification {
        switch self {
        case .deviceID: .basic
        case .deviceSecret, .transitionalDeviceSecret, .enrolled, .redeemed: .form
        }
    }

    /// The claim that binds the id_token to the device.
    var hashClaim: String {
        switch self {
        case .deviceID: "di_hash"
        case .deviceSecret, .transitionalDeviceSecret, .enrolled, .redeemed: "ds_hash"
        }
    }

    /// How the broker refuses a scope that needs consent.
    var consentRefusal: OAuthErrorCode {
        switch self {
        case .deviceID, .transitionalDeviceSecret: .invalidScope
        case .deviceSecret, .enrolled, .redeemed: .interactionRequired
        }
    }

    /// What no device has.
    var foreignDevice: DeviceProof {
        switch self {
        case .deviceID: .identifier(DeviceIdentifier())
        case .deviceSecret, .enrolled, .redeemed: .secret(Credential(DeviceIdentifier().text))
        case .transitionalDeviceSecret: .transitionalSecret(Credential(DeviceIdentifier().text))
        }
    }
}
