import OAuthWire
import StrictCoding

/// `device_id` of the 2018 profile. The first app on the device creates it and shares it through the keychain. Prints
/// as `****`.
///
/// It is a secret. Never use a known identifier instead (vendor, advertising, serial number): an attacker with an
/// id_token could test it against `di_hash`.
public struct DeviceIdentifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// 22 to 512 printable ASCII characters. Never log it.
    public let text: String

    /// Creates a value: 32 random octets as 43 base64url characters.
    public init() {
        text = RandomText.make()
    }

    /// An existing value; nil unless it has 22 to 512 printable ASCII characters.
    public init?(_ text: String) {
        guard (22...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
