import Crypto
import StrictCoding

/// The `actor_token` of an exchange: a `device_id` or a `device_secret`. A secret of the device: it prints as `****`.
package struct DeviceValue: Sendable, Redacted {
    package let profile: Profile
    package let octets: [UInt8]

    /// Fewest characters of a `device_id`: 22 of base64url carry 128 bits. `di_hash` is an unsalted hash in a widely
    /// travelling token, so a shorter value could be guessed offline.
    package static let minimumDeviceIDLength = 22
    package static let maximumDeviceIDLength = 512
    package static let maximumDeviceSecretLength = 4096

    /// `nil` if a character lies outside %x20-7E or the length outside the profile's bounds.
    package init?(_ actorToken: String, profile: Profile) {
        let octets = Array(actorToken.utf8)
        let lengths =
            switch profile {
            case .deviceID: Self.minimumDeviceIDLength...Self.maximumDeviceIDLength
            case .deviceSecret, .deviceSecretTransitional: 1...Self.maximumDeviceSecretLength
            }
        guard lengths.contains(octets.count), actorToken.isPrintableASCII() else { return nil }
        self.profile = profile
        self.octets = octets
    }

    /// A value that the broker created.
    init(octets: [UInt8], profile: Profile) {
        self.profile = profile
        self.octets = octets
    }
}

/// HMAC-SHA-256 of a device value under a key of the key module, bound to its issuer and to the sort of the value. Nothing
/// else is stored of it, but for the sealed answer of an enrolment by code.
package struct DeviceDigest: Hashable, Sendable {
    package let octets: [UInt8]

    package init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    init(validated octets: [UInt8]) { self.octets = octets }
}

extension DeviceValue {
    /// A new `device_secret`: 256 random bits in base64url. Native SSO §3.4 leaves the form to its maker.
    static func newSecret() -> DeviceValue {
        var randomness = SystemRandomNumberGenerator()
        let octets = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &randomness) }
        return DeviceValue(octets: Array(Base64URL.encode(octets).utf8), profile: .deviceSecret)
    }

    /// Whether a text can be a `device_secret` that the broker made.
    static func hasFormOfOwnSecret(_ text: String) -> Bool {
        text.utf8.count == 43 && Base64URL.decode(Array(text.utf8))?.count == 32
    }

    /// The text itself. Never for a log.
    var secret: String { String(decoding: octets, as: UTF8.self) }
}

extension SessionID {
    /// `sid` of an id_token that an enrolment issues: the broker's own name of the session. Unlike an IdP's `sid`, it
    /// is never reused.
    package init(of row: UniqueID) { self.init(validated: row.description) }

    /// SHA-256 of the text: what the registry stores. At some IdPs a `sid` is the session cookie, so a stolen database
    /// must not hold one.
    package var digest: [UInt8] { Array(SHA256.hash(data: Array(string.utf8))) }
}

/// The hash function that an id_token's `alg` implies for the hashes inside it. OpenID Connect Core §3.1.3.6.
package enum TokenHashFunction: Sendable {
    case sha256, sha384, sha512

    package func digest(_ octets: [UInt8]) -> [UInt8] {
        switch self {
        case .sha256: Array(SHA256.hash(data: octets))
        case .sha384: Array(SHA384.hash(data: octets))
        case .sha512: Array(SHA512.hash(data: octets))
        }
    }

    /// base64url of the left half of the hash: the construction of `at_hash`. OpenID Connect Core §3.1.3.6.
    func leftHalf(of octets: [UInt8]) -> String {
        let digest = digest(octets)
        return Base64URL.encode(digest[..<(digest.count / 2)])
    }
}

/// How an issuer computes `ds_hash`, which no draft defines. `di_hash` is always the left half.
package enum DeviceHashMode: String, Sendable, CaseIterable {
    /// The construction of `at_hash`: base64url of the left half, hash function by the id_token's `alg`. The default.
    case leftHalf = "left_half"
    /// base64url of the whole SHA-256 (Janssen, Authlete).
    case fullSHA256 = "full_sha256_b64url"
    /// Lower-case hexadecimal SHA-256 (Authgear).
    case fullSHA256Hex = "full_sha256_hex"
    /// Hexadecimal SHA-512, compared without regard to case (Apereo CAS).
    case fullSHA512Hex = "full_sha512_hex"
}

extension DeviceValue {
    /// Whether `claim` is the hash of this value: exact, case-sensitive and in constant time, on the encoded strings.
    /// A claim that decodes to the right octets but is not canonical base64url does not match.
    package func matches(claim: String, function: TokenHashFunction, mode: DeviceHashMode) -> Bool {
        let mode = profile == .deviceID ? .leftHalf : mode
        let computed = hash(function: function, mode: mode)
        let presented = mode == .fullSHA512Hex ? claim.lowercased() : claim
        return ConstantTime.equal(computed.utf8, presented.utf8)
    }

    /// The value of `di_hash` or `ds_hash` for this device value.
    package func hash(function: TokenHashFunction, mode: DeviceHashMode = .leftHalf) -> String {
        switch mode {
        case .leftHalf: function.leftHalf(of: octets)
        case .fullSHA256: Base64URL.encode(TokenHashFunction.sha256.digest(octets))
        case .fullSHA256Hex: Hexadecimal.encode(TokenHashFunction.sha256.digest(octets))
        case .fullSHA512Hex: Hexadecimal.encode(TokenHashFunction.sha512.digest(octets))
        }
    }
}
