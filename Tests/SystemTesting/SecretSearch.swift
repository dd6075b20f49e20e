import Crypto
import Foundation
import StrictCoding

/// Looks for secrets in texts that must not hold them, in every form in which somebody might have written them down.
public struct SecretSearch: Sendable {
    private var needles: [(form: String, text: String)] = []

    public init() {}

    public mutating func add(_ secret: String, _ name: String) {
        let octets = Array(secret.utf8)
        let digest = Array(SHA256.hash(data: octets))
        needles += [
            (name, secret), ("\(name), base64", Base64.encode(octets)),
            ("\(name), base64url", Base64URL.encode(octets)),
            ("\(name), hexadecimal", Hexadecimal.encode(octets)), ("\(name), URL-encoded", Self.urlEncoded(octets)),
            ("SHA-256 of \(name)", Hexadecimal.encode(digest)),
            ("SHA-256 of \(name), base64url", Base64URL.encode(digest)),
        ]
        // A token that was cut is still a token to whoever finds both halves: its last part is what makes it one.
        let parts = secret.split(separator: ".")
        if parts.count == 3 { needles.append(("the signature of \(name)", String(parts[2]))) }
    }

    /// The forms that were found.
    public func findings(in text: String) -> [String] {
        let text = Data(text.utf8)
        return needles.filter { text.range(of: Data($0.text.utf8)) != nil }.map(\.form)
    }

    private static func urlEncoded(_ octets: [UInt8]) -> String {
        octets.map { "%" + Hexadecimal.encode(CollectionOfOne($0)).uppercased() }.joined()
    }
}
