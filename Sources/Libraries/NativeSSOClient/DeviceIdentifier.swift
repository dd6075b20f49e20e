import OAuthWire
import StrictCoding

/// `device_id` of the 2018 profile: made up by the first app on the device, shared through the keychain. Prints as `****`.
///
/// It is a secret and nothing else. Identifiers that others know too (of the vendor, for advertising, a serial number) must
/// not take its place: whoever holds an id_token could test them against its `di_hash`.
public struct DeviceIdentifier: Sendable, CustomStringConvertible, CustomReflectable {
    public let text: String

    /// 32 random octets as 43 characters.
    public init() {
        text = RandomText.make()
    }

    /// One that exists already: 22 to 512 printable ASCII characters.
    public init?(_ text: String) {
        guard (22...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
