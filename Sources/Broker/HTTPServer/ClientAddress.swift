import NIOHTTP1

/// Whom a request comes from, as far as the network tells: what limits for each caller are counted by.
///
/// An IPv4 address, or the /64 of an IPv6 address: a subscriber has all addresses of a /64 (RFC 6177), and would be as
/// many callers. Equal for every way to write one address.
package struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// `nil`: ``unreadable``.
    package let prefix: NetworkAddress?

    package init(_ address: NetworkAddress) {
        self.init(prefix: address.family == .v4 ? address : address.prefix(64))
    }

    private init(prefix: NetworkAddress?) { self.prefix = prefix }

    /// All those together whom a trusted proxy names in a way that is no address. One caller like any other, so that nobody
    /// goes uncounted by making himself unreadable.
    static let unreadable = ClientAddress(prefix: nil)

    package var description: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix)" : "\(prefix)/64"
    }

    /// The network, too wide to tell one person: what a log may keep. The first 24 bits of IPv4, 48 of IPv6.
    package var network: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix.prefix(24))/24" : "\(prefix.prefix(48))/48"
    }
}

/// Whose word on where a request comes from is believed. Nobody's, unless configured.
package struct TrustedProxies: Sendable {
    /// Which header those proxies write. The other one would be what a client made of it: proxies pass on what they do not
    /// know.
    package enum Header: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded
    }

    package var blocks: [AddressBlock]
    /// Whoever may open the Unix socket.
    package var includesUnixSocket: Bool
    package var header: Header

    package static let none = TrustedProxies(blocks: [])

    package init(blocks: [AddressBlock], includesUnixSocket: Bool = false, header: Header = .xForwardedFor) {
        self.blocks = blocks
        self.includesUnixSocket = includesUnixSocket
        self.header = header
    }

    /// - Parameter peer: The other end of the connection; `nil` for a Unix socket.
    func include(_ peer: NetworkAddress?) -> Bool {
        guard let peer else { return includesUnixSocket }
        return blocks.contains { $0.contains(peer) }
    }

    /// The last address in the chain that is no trusted proxy's. What stands before it is hearsay.
    ///
    /// - Returns: `nil` where nobody who is believed says it: over a Unix socket. ``ClientAddress/unreadable`` if a proxy names
    ///   its client in a way that is no address.
    func client(of peer: NetworkAddress?, _ headers: HTTPHeaders) -> ClientAddress? {
        guard include(peer) else { return peer.map(ClientAddress.init) }
        var nearest = peer
        for node in nodes(headers).reversed() {
            guard let address = ForwardedNode.address(node) else { return .unreadable }
            guard include(address) else { return ClientAddress(address) }
            nearest = address
        }
        return nearest.map(ClientAddress.init)
    }

    /// From the first to the last; a field that comes twice is one list. RFC 9110 §5.3.
    private func nodes(_ headers: HTTPHeaders) -> [Substring] {
        switch header {
        case .xForwardedFor:
            // At octets: what a client wrote before the proxy's comma may be one character with it.
            headers["x-forwarded-for"].flatMap { field in
                field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
            }
        case .forwarded: headers["forwarded"].flatMap(ForwardedNode.forwardedFor)
        }
    }
}

/// One hop of a chain of proxies, as they write it: an address, with or without a port.
enum ForwardedNode {
    /// `192.0.2.43`, `192.0.2.43:47011`, `2001:db8::17`, `[2001:db8::17]`, `[2001:db8::17]:4711`. `nil` for everything else:
    /// RFC 7239 §6 also knows `unknown` and made-up names.
    static func address(_ text: some StringProtocol) -> NetworkAddress? {
        let text = OuterWhitespace.removed(from: text)
        if text.hasPrefix("[") {
            guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let rest = text[text.utf8.index(after: end)...]
            guard rest.isEmpty || isPort(rest) else { return nil }
            let address = NetworkAddress(String(text[..<end].dropFirst()))
            return text.utf8[..<end].contains(UInt8(ascii: ":")) ? address : nil
        }
        let colons = text.utf8.filter { $0 == UInt8(ascii: ":") }.count
        guard colons == 1, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return NetworkAddress(String(text))
        }
        return isPort(text[colon...]) ? NetworkAddress(String(text[..<colon])) : nil
    }

    /// The `for` of each element of one `Forwarded` field. RFC 7239 §4. An element without it, or one that cannot be read, is
    /// an empty text: no address, so that nobody is taken for somebody else.
    static func forwardedFor(_ field: String) -> [Substring] {
        elements(field[...]).map { element in
            guard let pairs = pairs(element) else { return "" }
            let values = pairs.compactMap { pair -> Substring? in
                let pair = OuterWhitespace.removed(from: pair)
                guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")),
                    pair[..<equals].lowercased().utf8.elementsEqual("for".utf8)
                else { return nil }
                return unquoted(pair[pair.utf8.index(after: equals)...])
            }
            return values.count == 1 ? values[0] : ""
        }
    }

    /// Cut at the commas that are not inside quotes, as seen from the end: what the last proxy added is whole, whatever a
    /// client left open before it. Only an escaped quote would be taken for an end, and no element with an escape is read.
    private static func elements(_ field: Substring) -> [Substring] {
        var elements: [Substring] = []
        var isQuoted = false
        var end = field.endIndex
        for index in field.utf8.indices.reversed() {
            switch field.utf8[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                elements.append(field[field.utf8.index(after: index)..<end])
                end = index
            default: break
            }
        }
        elements.append(field[..<end])
        return elements.reversed()
    }

    /// Cut at the semicolons that are not inside quotes. `nil` where a quote does not end.
    private static func pairs(_ element: Substring) -> [Substring]? {
        var pairs: [Substring] = []
        var isQuoted = false
        var start = element.startIndex
        for index in element.utf8.indices {
            switch element.utf8[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\"): return nil  // no address needs an escape
            case UInt8(ascii: ";") where !isQuoted:
                pairs.append(element[start..<index])
                start = element.utf8.index(after: index)
            default: break
            }
        }
        return isQuoted ? nil : pairs + [element[start...]]
    }

    private static func unquoted(_ text: Substring) -> Substring {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        return text.dropFirst().dropLast()
    }

    /// A colon and 1 to 65535.
    private static func isPort(_ text: some StringProtocol) -> Bool {
        let digits = String(text.dropFirst())
        guard text.hasPrefix(":"), let port = UInt16(digits), port > 0 else { return false }
        return String(port) == digits
    }
}
