import Crypto

/// A second factor: the six digits of an authenticator app, TOTP of RFC 6238 with SHA-1 and steps of 30 s, as those apps use it.
package struct TimeBasedPassword: Sendable, CustomStringConvertible, CustomReflectable {
    /// Seconds.
    static let step: Int64 = 30

    /// The secret as authenticator apps take it.
    package let base32: String
    private let secret: [UInt8]

    /// nil unless the text is base32 (RFC 4648 §6) of at least 16 octets (RFC 4226 §4, R6). Padding may be left out.
    package init?(base32 text: String) {
        var (octets, buffer, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for character in text.utf8 where character != UInt8(ascii: "=") {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default: return nil
            }
            (buffer, bits) = ((buffer << 5 | UInt32(value)) & 0xfff, bits + 5)
            if bits >= 8 {
                bits -= 8
                octets.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard octets.count >= 16 else { return nil }
        base32 = text
        secret = octets
    }

    /// The six digits at this time, in seconds since 1970.
    package func digits(at now: Int64) -> String { digits(step: now / Self.step) }

    /// The step that `text` is good for: now's, or the one before or after it, because clocks differ (RFC 6238 §5.2).
    func step(of text: String, at now: Int64) -> Int64? {
        let current = now / Self.step
        return [current, current - 1, current + 1].first { digits(step: $0).utf8.elementsEqual(text.utf8) }
    }

    /// RFC 4226 §5.3.
    private func digits(step: Int64) -> String {
        let counter = withUnsafeBytes(of: UInt64(bitPattern: step).bigEndian) { Array($0) }
        let code = Array(
            HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret)))
        let offset = Int(code[19] & 0xf)
        let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.utf8.count) + digits
    }

    package var description: String { "****" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
