import StrictCoding

extension Readers {
    /// What is accepted is what the writer would have written: one text for each octet string.
    static func base64(_ octets: [UInt8]) throws -> Bool {
        if let decoded = Base64URL.decode(octets) {
            try hold(Array(Base64URL.encode(decoded).utf8) == octets, "base64url has two texts for one value")
        }
        if let decoded = Base64.decode(octets) {
            try hold(Array(Base64.encode(decoded).utf8) == octets, "base64 has two texts for one value")
        }
        try hold(Base64URL.decode(Base64URL.encode(octets)) == octets, "base64url is not read as it was written")
        try hold(Base64.decode(Base64.encode(octets)) == octets, "base64 is not read as it was written")
        try hold(Hexadecimal.decode(Hexadecimal.encode(octets)) == octets, "base 16 is not read as it was written")
        return Base64URL.decode(octets) != nil || Base64.decode(octets) != nil
    }
}
