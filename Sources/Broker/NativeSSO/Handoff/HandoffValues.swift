import Crypto
import StrictCoding

/// The code that an app gets for a web app: `nsh1.` and 256 random bits in base64url. It prints as `****`.
///
/// The fixed prefix and length distinguish it from other credentials and let a secret scanner find a leaked one.
package struct HandoffCode: Sendable, Redacted {
    /// The text itself. Never for a log.
    package let secret: String

    private static let prefix = "nsh1."

    /// How long a code is good, from its answer on. The app opens the browser at once.
    package static let life: Seconds = 60

    /// A presented code; `nil` if it does not have the form of one.
    package init?(_ text: String) {
        guard text.utf8.starts(with: Self.prefix.utf8),
            Base64URL.decode(Array(text.utf8.dropFirst(Self.prefix.utf8.count)))?.count == 32
        else { return nil }
        secret = text
    }

    init(using randomness: inout some RandomNumberGenerator) {
        let octets = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &randomness) }
        secret = Self.prefix + Base64URL.encode(octets)
    }

    /// What the registry stores of it. A stolen database does not show whether a text is a code.
    package func digest(by records: any RecordAuthenticator) async throws(PortError) -> HandoffDigest {
        HandoffDigest(octets: try await records.tag(.webHandoff, [Array(secret.utf8)]))
    }
}

/// HMAC-SHA-256 of a ``HandoffCode`` under the device key of the key module.
package struct HandoffDigest: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]

    package init(octets: [UInt8]) { self.octets = octets }
}

/// The web app's challenge: base64url of SHA-256 of a verifier that it keeps for one browser. Only that browser's login
/// comes from the code, so an attacker cannot log a victim's browser in as the attacker. The construction is `S256` of
/// RFC 7636 §4.2.
package struct HandoffChallenge: Hashable, Sendable {
    /// 32 octets.
    package let digest: [UInt8]

    package init(digest: [UInt8]) { self.digest = digest }

    /// `nil` unless it is the base64url of 32 octets.
    package init?(_ text: String) {
        guard let digest = Base64URL.decode(Array(text.utf8)), digest.count == 32 else { return nil }
        self.digest = digest
    }

    /// The challenge that a verifier fits; `nil`: the verifier does not have the form of RFC 7636 §4.1, and fits none.
    package init?(of verifier: String) {
        guard verifier.isVerifier else { return nil }
        digest = Array(SHA256.hash(data: Array(verifier.utf8)))
    }

    /// Compares in constant time.
    func matches(_ other: HandoffChallenge) -> Bool { ConstantTime.equal(digest, other.digest) }
}

/// The origin of a web app, as browsers write it: `https://web.example.com`, with a port only if it is not 443. RFC 6454
/// §6.2. `http` is for a loopback host only.
package struct WebOrigin: Hashable, Sendable {
    /// In octets.
    package static let maximumLength = 255
    package let string: String

    package init(validated string: String) { self.string = string }

    /// `nil` unless a browser would write the origin exactly so.
    package init?(_ text: String) {
        let schemes = [("https://", "443"), ("http://", "80")]
        guard text.utf8.count <= Self.maximumLength,
            let (scheme, defaultPort) = schemes.first(where: { text.utf8.starts(with: $0.0.utf8) })
        else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        // The last colon outside of an IPv6 address.
        let end = rest.lastIndex(of: UInt8(ascii: "]")) ?? rest.startIndex
        let colon = rest[end...].lastIndex(of: UInt8(ascii: ":"))
        let host = rest[..<(colon ?? rest.endIndex)]
        guard !host.isEmpty, host.allSatisfy(Self.isOfHost), host.first != UInt8(ascii: ".") else { return nil }
        if let colon {
            let port = String(decoding: rest[colon...].dropFirst(), as: UTF8.self)
            guard let number = UInt16(port), number > 0, String(number) == port, port != defaultPort else { return nil }
        }
        guard
            defaultPort == "443"
                || ["localhost", "127.0.0.1", "[::1]"].contains(where: { $0.utf8.elementsEqual(host) })
        else { return nil }
        string = text
    }

    /// Lower case: browsers write it so. Brackets and colons: an IPv6 address.
    private static func isOfHost(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
