import StrictCoding

extension DeviceValue {
    /// A new `device_secret`: 256 random bits in base64url. Native SSO §3.4 leaves the form to whoever makes it.
    static func newSecret() -> DeviceValue {
        var randomness = SystemRandomNumberGenerator()
        let octets = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &randomness) }
        return DeviceValue(octets: Array(Base64URL.encode(octets).utf8), profile: .deviceSecret)
    }

    /// The text itself. Never for a log.
    var secret: String { String(decoding: octets, as: UTF8.self) }
}

extension SessionID {
    /// 128 random bits: never used before.
    static func new() -> SessionID { SessionID(validated: JWTID.random()) }
}
