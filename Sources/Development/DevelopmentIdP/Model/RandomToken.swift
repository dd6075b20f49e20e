import StrictCoding

/// Unguessable values: codes, tokens, cookies, device secrets.
enum RandomToken {
    /// 32 octets from the operating system's generator, as 43 base64url characters.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        let octets = (0..<4).flatMap { _ in
            withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
        return Base64URL.encode(octets)
    }
}
