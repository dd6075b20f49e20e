import StrictCoding

/// The value of `Host` and of `:authority`: `uri-host [ ":" port ]`. RFC 9110 §7.2, RFC 3986 §3.2.2.
///
/// Nothing is ever decided by it. But what one server takes for a host and another for something else is how a request comes to
/// be read twice, so what is none is refused: RFC 9112 §3.2 demands it.
enum Authority {
    /// An empty host is for targets without an authority, and ours has one. Literals of a version of IP that is yet to come are
    /// not known.
    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= 255 + 6 else { return false }  // RFC 1035 §2.3.4, and a port
        let octets = Array(text.utf8)
        if octets.first == UInt8(ascii: "[") {
            guard let end = octets.firstIndex(of: UInt8(ascii: "]")), isIPv6(octets[1..<end]) else { return false }
            return isPort(octets[(end + 1)...])
        }
        let colon = octets.firstIndex(of: UInt8(ascii: ":")) ?? octets.endIndex
        return isName(octets[..<colon]) && isPort(octets[colon...])
    }

    private static func isIPv6(_ octets: ArraySlice<UInt8>) -> Bool {
        octets.contains(UInt8(ascii: ":")) && NetworkAddress(String(decoding: octets, as: UTF8.self)) != nil
    }

    /// `1*( unreserved / pct-encoded / sub-delims )`, which an IPv4 address is, too.
    private static func isName(_ octets: ArraySlice<UInt8>) -> Bool {
        var rest = octets
        while let octet = rest.popFirst() {
            if octet == UInt8(ascii: "%") {
                guard rest.count >= 2, rest.prefix(2).allSatisfy(isHexadecimal) else { return false }
                rest = rest.dropFirst(2)
            } else if !octet.isUnreserved, !subDelimiters.contains(octet) {
                return false
            }
        }
        return !octets.isEmpty
    }

    /// Nothing, or a colon and a port, which may be empty.
    private static func isPort(_ octets: ArraySlice<UInt8>) -> Bool {
        guard octets.first == UInt8(ascii: ":") else { return octets.isEmpty }
        let digits = octets.dropFirst()
        guard digits.count <= 5, digits.allSatisfy(isDigit) else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65_535
    }

    private static let subDelimiters = Array("!$&'()*+,;=".utf8)

    private static func isDigit(_ octet: UInt8) -> Bool { (0x30...0x39).contains(octet) }

    private static func isHexadecimal(_ octet: UInt8) -> Bool {
        isDigit(octet) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(octet | 0x20)
    }
}
