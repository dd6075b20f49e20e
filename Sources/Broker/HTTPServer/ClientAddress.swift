import NIOHTTP1

/// The sender of a request, as far as the network tells: the key of limits for each caller.
///
/// An IPv4 address, or the /64 of an IPv6 address: a subscriber has all addresses of a /64 (RFC 6177), and could
/// otherwise pose as many callers. All notations of one address are equal.
package struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// `nil`: ``unreadable``.
    package let prefix: NetworkAddress?

    package init(_ address: NetworkAddress) { self.init(prefix: address.family == .v4 ? address : address.prefix(64)) }

    private init(prefix: NetworkAddress?) { self.prefix = prefix }

    /// Requests whose forwarded address cannot be parsed share this one value. They are limited like one caller, so an
    /// unreadable address evades no limit.
    static let unreadable = ClientAddress(prefix: nil)

    package var description: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix)" : "\(prefix)/64"
    }

    /// The network, too wide to identify a person: logs may keep it. The first 24 bits of IPv4, 48 of IPv6.
    package var network: String {
        guard let prefix else { return "unreadable" }
        return prefix.family == .v4 ? "\(prefix.prefix(24))/24" : "\(prefix.prefix(48))/48"
    }
}

/// The peers whose forwarding header is believed. None unless configured.
package struct TrustedProxies: Sendable {
    /// The header that these proxies write. The other header is ignored: proxies pass it on as the client wrote it.
    package enum Header: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded
    }

    package var blocks: [AddressBlock]
    /// Every process that may open the Unix socket counts as a trusted proxy.
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

    /// The last address in the forwarding chain that is not a trusted proxy. Addresses before it are unverified.
    ///
    /// - Returns: `nil` over a Unix socket if no trusted proxy names an address. ``ClientAddress/unreadable`` if a
    ///   proxy's entry for its client is not an address.
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

    /// From the first to the last; a repeated field is one list. RFC 9110 §5.3.
    private func nodes(_ headers: HTTPHeaders) -> [Substring] {
        switch header {
        case .xForwardedFor:
            // Splits octets: the client's text before the proxy's comma can form one character with it.
            headers["x-forwarded-for"].flatMap { field in
                field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
            }
        case .forwarded: headers["forwarded"].flatMap(ForwardedNode.forwardedFor)
        }
    }
}

/// One hop of a chain of proxies, as proxies write it: an address, with or without a port.
enum ForwardedNode {
    /// `192.0.2.43`, `192.0.2.43:47011`, `2001:db8::17`, `[2001:db8::17]`, `[2001:db8::17]:4711`. `nil` for everything
    /// else: RFC 7239 §6 also allows `unknown` and made-up names.
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

    /// The `for` of each element of one `Forwarded` field. RFC 7239 §4. An element without `for`, or an unreadable
    /// element, gives an empty text. That is no address, so it cannot be taken for another client's.
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

    /// Split at the commas outside quotes, read from the end. So the last proxy's element stays whole, even if a client
    /// left a quote open before it. Escaped quotes would be misread, but elements with an escape are refused.
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

    /// Split at the semicolons outside quotes. `nil` if a quote does not end.
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
