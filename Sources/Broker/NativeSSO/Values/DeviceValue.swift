/// The `actor_token` of an exchange: a `device_id` or a `device_secret`. A secret of the device: it prints as `****`.
public struct DeviceValue: Sendable, CustomStringConvertible, CustomReflectable {
    public let profile: Profile
    public let octets: [UInt8]

    /// Fewest characters of a `device_id`: 22 of base64url carry 128 bits. `di_hash` is an unsalted hash in a widely
    /// travelling token, so a shorter value could be guessed offline.
    public static let minimumDeviceIDLength = 22
    public static let maximumDeviceIDLength = 512
    public static let maximumDeviceSecretLength = 4096

    /// `nil` if a character lies outside %x20-7E or the length outside the profile's bounds.
    public init?(_ actorToken: String, profile: Profile) {
        let octets = Array(actorToken.utf8)
        let lengths =
            switch profile {
            case .deviceID: Self.minimumDeviceIDLength...Self.maximumDeviceIDLength
            case .deviceSecret, .deviceSecretTransitional: 1...Self.maximumDeviceSecretLength
            }
        guard lengths.contains(octets.count), octets.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        self.profile = profile
        self.octets = octets
    }

    /// One that was made here.
    init(octets: [UInt8], profile: Profile) {
        self.profile = profile
        self.octets = octets
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// HMAC-SHA-256 of a device value under a key of the key module, bound to its issuer: all that is ever stored of it.
public struct DeviceDigest: Hashable, Sendable {
    public let octets: [UInt8]

    public init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    init(validated octets: [UInt8]) { self.octets = octets }
}
