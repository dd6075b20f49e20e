/// The `device_id` of the 2018 profile: what the app made up before its first login and proves the device with later.
struct DeviceIdentifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// Its `di_hash`, which is all that is kept of it.
    let hash: String

    /// nil unless `text` has 22 to 512 printable ASCII characters. 22 base64url characters hold 128 bits: the unsalted hash
    /// travels in the id_token, so anything that can be guessed could be tested against it.
    init?(_ text: String) {
        guard (22...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            return nil
        }
        hash = LeftHalfHash.ofSHA256(text)
    }

    var description: String { "****" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
