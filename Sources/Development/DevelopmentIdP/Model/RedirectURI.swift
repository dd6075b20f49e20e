import StrictCoding

/// A registered redirection URI, RFC 8252 §7: a claimed `https` address, a private-use scheme, or loopback `http`.
package struct RedirectURI: Sendable, Equatable {
    package let text: String
    /// What stands around the port of a loopback redirect; nil for the others.
    private let loopback: Loopback?

    /// nil where a native app must not register this: another scheme, a fragment (RFC 6749 §3.1.2), foreign characters.
    ///
    /// - Parameter allowsUndottedScheme: For `myapp://callback`, which many tutorials use and RFC 8252 §7.1 forbids.
    package init?(_ text: String, allowsUndottedScheme: Bool = false) {
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), !text.utf8.contains(UInt8(ascii: "#")) else {
            return nil
        }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        loopback = Loopback(text[...])
        // RFC 8252 §7.1: a private-use scheme is a domain name in reverse, so it has a dot. This keeps out `javascript:`.
        guard
            loopback != nil || scheme == "https"
                || Self.isPrivateUse(scheme, needsDot: !allowsUndottedScheme)
        else { return nil }
        self.text = text
    }

    /// Whether a request may use `requested`: the same octets, except for the port of a loopback redirect, which the
    /// operating system chooses when the app listens (RFC 8252 §7.3).
    package func allows(_ requested: String) -> Bool {
        if text.hasSameOctets(as: requested) { return true }
        guard let loopback, let other = Loopback(requested[...]) else { return false }
        return loopback == other
    }

    /// Schemes without a dot that a browser or the system gives a meaning to.
    private static let taken: Set = [
        "about", "blob", "chrome", "data", "file", "filesystem", "ftp", "http", "https", "intent", "javascript",
        "mailto", "sms", "tel", "vbscript", "view-source", "ws", "wss",
    ]

    private static func isPrivateUse(_ scheme: Substring, needsDot: Bool) -> Bool {
        let isAlphabetic: (UInt8) -> Bool = { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        guard let first = scheme.utf8.first, isAlphabetic(first) else { return false }
        guard scheme.utf8.contains(UInt8(ascii: ".")) || !needsDot && !taken.contains(scheme.lowercased()) else {
            return false
        }
        return scheme.utf8.allSatisfy {
            isAlphabetic($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "+-.".utf8.contains($0)
        }
    }

    package static func == (a: RedirectURI, b: RedirectURI) -> Bool { a.text.hasSameOctets(as: b.text) }
}

/// `http://127.0.0.1[:port]/path` or `http://[::1][:port]/path` without its port. `localhost` is not among them: it may
/// resolve to something else (RFC 8252 §8.3).
private struct Loopback: Equatable {
    let address: String
    let path: String

    init?(_ text: Substring) {
        guard let address = ["http://127.0.0.1", "http://[::1]"].first(where: { text.hasPrefix($0) }) else {
            return nil
        }
        var rest = text.dropFirst(address.count)
        if rest.first == ":" {
            rest = rest.dropFirst()
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard UInt16(digits) != nil else { return nil }
            rest = rest.dropFirst(digits.count)
        }
        guard rest.first == "/" || rest.first == "?" || rest.isEmpty else { return nil }
        self.address = address
        path = String(rest)
    }

    static func == (a: Loopback, b: Loopback) -> Bool {
        a.address == b.address && a.path.hasSameOctets(as: b.path)
    }
}
