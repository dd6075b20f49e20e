import StrictCoding

/// The facts about a request's first line that the parser does not report when it refuses the line. RFC 9112 §3.
///
/// Scans only the beginning: whether a method is there that the parser does not know, and how long the line is.
struct RequestLine {
    private enum State {
        /// Empty lines may come first, RFC 9112 §2.2.
        case before
        case method
        case afterMethod
        case ended
    }

    private var state = State.before
    /// Octets of the line so far.
    private(set) var length = 0
    /// Whether the line begins with a method, or with a part of one so far: a token. RFC 9110 §9.1.
    private(set) var hasMethod = false

    mutating func scan(_ octets: some Collection<UInt8>) {
        for octet in octets {
            switch state {
            case .before where Self.isLineEnd(octet): continue
            case .before: state = .method
            case .ended: return
            case .method, .afterMethod: break
            }
            if Self.isLineEnd(octet) {
                if case .method = state { hasMethod = false }  // a line of one word
                state = .ended
                return
            }
            length += 1
            guard case .method = state else { continue }
            if octet == UInt8(ascii: " "), length > 1 {
                state = .afterMethod
            } else {
                hasMethod = Token.contains(octet)
                if !hasMethod { state = .afterMethod }
            }
        }
    }

    private static func isLineEnd(_ octet: UInt8) -> Bool { octet == 0x0D || octet == 0x0A }
}

/// RFC 9110 §5.6.2.
enum Token {
    static func contains(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isDigit(octet) || marks.contains(octet)
        }
    }

    static func isDigit(_ octet: UInt8) -> Bool { (0x30...0x39).contains(octet) }

    private static let marks = Array("!#$%&'*+-.^_`|~".utf8)
}

/// The value of `Host` and of `:authority`: `uri-host [ ":" port ]`. RFC 9110 §7.2, RFC 3986 §3.2.2.
///
/// No decision depends on the host. But a request can be read twice if two servers disagree about its host. So the
/// broker refuses an invalid one, as RFC 9112 §3.2 demands.
enum Authority {
    /// An empty host is for targets without an authority. Literals of future IP versions are refused.
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

    /// `1*( unreserved / pct-encoded / sub-delims )`; this covers an IPv4 address.
    private static func isName(_ octets: ArraySlice<UInt8>) -> Bool {
        var rest = octets
        while let octet = rest.popFirst() {
            if octet == UInt8(ascii: "%") {
                guard rest.count >= 2, rest.prefix(2).allSatisfy({ Hexadecimal.value($0) != nil }) else { return false }
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
        guard digits.count <= 5, digits.allSatisfy(Token.isDigit) else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65_535
    }

    private static let subDelimiters = Array("!$&'()*+,;=".utf8)
}
