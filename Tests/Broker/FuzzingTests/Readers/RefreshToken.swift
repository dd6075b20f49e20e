import BrokerTesting
@testable import NativeSSO

extension Readers {
    private static let keys = SoftwareMACKeys()

    /// A token is read only as it was made: its fields come back, no other octet does, and no text of a stranger passes.
    static func refreshToken(_ octets: [UInt8]) throws -> Bool {
        let text = String(decoding: octets, as: UTF8.self)
        let read = try RefreshToken.decode(text, by: keys)
        if let token = read {
            // Made under an older key it is another text; both keys read it.
            keys.use(keyID: 1)
            let first = try token.encoded(by: keys)
            keys.use(keyID: 2)
            let second = try token.encoded(by: keys)
            try hold(
                text.utf8.elementsEqual(first.utf8) || text.utf8.elementsEqual(second.utf8),
                "a refresh token that nobody made")
        }
        guard octets.count >= 20, let grantID = UniqueID(octets: octets[..<16]) else { return read != nil }
        let generation = octets[16..<20].reduce(Int32(0)) { $0 << 8 | Int32($1) }
        let token = RefreshToken(grantID: grantID, generation: generation)
        var made = Array(try token.encoded(by: keys).utf8)
        try hold(try RefreshToken.decode(String(decoding: made, as: UTF8.self), by: keys) == token, "fields are lost")
        guard octets.count >= 22 else { return read != nil }
        let index = Int(octets[20]) % made.count
        let octet = octets[21]
        guard made[index] != octet else { return read != nil }
        made[index] = octet
        try hold(
            try RefreshToken.decode(String(decoding: made, as: UTF8.self), by: keys) == nil,
            "a refresh token with another octet \(index) passes")
        return read != nil
    }
}
