import StrictCoding

/// Values that nobody can guess.
enum RandomText {
    /// 32 octets of the system's generator as 43 base64url characters.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        var octets: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: generator.next() as UInt64) { octets.append(contentsOf: $0) } }
        return Base64URL.encode(octets)
    }
}
