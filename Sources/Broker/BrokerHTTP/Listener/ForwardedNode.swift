/// One hop of a chain of proxies, as they write it: an address, with or without a port.
enum ForwardedNode {
    /// `192.0.2.43`, `192.0.2.43:47011`, `2001:db8::17`, `[2001:db8::17]`, `[2001:db8::17]:4711`. `nil` for everything else:
    /// RFC 7239 §6 also knows `unknown` and made-up names.
    static func address(_ text: some StringProtocol) -> NetworkAddress? {
        let text = trimmed(text)
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
                let pair = trimmed(pair)
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

    private static func trimmed(_ text: some StringProtocol) -> Substring {
        func isSpace(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }
        let text = Substring(text)
        let start = text.utf8.firstIndex { !isSpace($0) } ?? text.endIndex
        let end = text.utf8.lastIndex { !isSpace($0) }.map { text.utf8.index(after: $0) } ?? start
        return text[start..<end]
    }
}
