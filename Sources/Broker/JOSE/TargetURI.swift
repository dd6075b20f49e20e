import StrictCoding

/// An http or https URI without query and fragment, normalized for comparison: RFC 9449 §4.3 check 9, RFC 3986 §6.2.2
/// and §6.2.3.
public struct TargetURI: Sendable, Hashable, CustomStringConvertible {
    private let octets: [UInt8]

    private static let longest = 2048

    /// `nil` for anything else, such as an empty host or user information.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.isPrintableASCII(except: UInt8(ascii: " ")) else { return nil }
        let whole = text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let colon = whole.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = whole[..<colon].map(Self.lowerCase)
        let isSecure = scheme == Array("https".utf8)
        guard isSecure || scheme == Array("http".utf8) else { return nil }
        let rest = whole[whole.index(after: colon)...]
        guard rest.starts(with: "//".utf8) else { return nil }
        let hierarchy = rest.dropFirst(2)
        let authority = hierarchy.prefix { $0 != UInt8(ascii: "/") }
        guard let host = Self.host(Array(authority), standardPort: isSecure ? "443" : "80"),
            let path = Self.path(Array(hierarchy.dropFirst(authority.count)))
        else { return nil }
        octets = scheme + Array("://".utf8) + host + path
    }

    public var description: String { String(decoding: octets, as: UTF8.self) }

    /// Lower case; without the scheme's default port.
    private static func host(_ authority: [UInt8], standardPort: String) -> [UInt8]? {
        guard !authority.contains(UInt8(ascii: "@")) else { return nil }
        // The colons of an IPv6 address are inside brackets.
        let end = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        let colon = authority[end...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let host = authority[..<colon].map(lowerCase)
        let port = authority[colon...].dropFirst()
        guard !host.isEmpty, port.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return port.isEmpty || port.elementsEqual(standardPort.utf8) ? host : host + [UInt8(ascii: ":")] + port
    }

    /// Removes dot segments and needless percent-encoding. An empty path becomes `/`.
    private static func path(_ path: [UInt8]) -> [UInt8]? {
        guard let decoded = decodingUnreserved(path) else { return nil }
        var segments: [ArraySlice<UInt8>] = []
        let parts = decoded.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            if part.elementsEqual(".".utf8) {
                if isLast { segments.append([]) }
            } else if part.elementsEqual("..".utf8) {
                _ = segments.popLast()
                if isLast { segments.append([]) }
            } else {
                segments.append(part)
            }
        }
        return segments.isEmpty ? [UInt8(ascii: "/")] : segments.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    /// RFC 3986 §6.2.2.1 and §6.2.2.2. `nil` if two hexadecimal digits do not follow a `%`.
    private static func decodingUnreserved(_ path: [UInt8]) -> [UInt8]? {
        var decoded: [UInt8] = []
        var rest = path[...]
        while let octet = rest.popFirst() {
            guard octet == UInt8(ascii: "%") else {
                decoded.append(octet)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            let value = high << 4 | low
            if value.isUnreserved {
                decoded.append(value)
            } else {
                decoded += "%\(Hexadecimal.encode(CollectionOfOne(value)).uppercased())".utf8
            }
        }
        return decoded
    }

    private static func lowerCase(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet + 0x20 : octet
    }
}
