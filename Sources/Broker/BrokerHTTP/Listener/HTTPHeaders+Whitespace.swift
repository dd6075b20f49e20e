import NIOHTTP1

extension HTTPHeaders {
    /// The same fields, whose values neither begin nor end with a space or a tab: such are no part of a value. RFC 9110 §5.5.
    ///
    /// The parser leaves those at the end. They go once, before anything reads a value, so that nothing reads it in another way
    /// than the parser has framed the body by: that takes `Content-Length: 5 ` for 5, and `chunked ` for chunks.
    var withoutOuterWhitespace: HTTPHeaders {
        guard contains(where: { OuterWhitespace.isIn($0.value) }) else { return self }
        return HTTPHeaders(map { ($0.name, OuterWhitespace.removed(from: $0.value)) })
    }
}

/// Spaces and tabs around the value of a field.
enum OuterWhitespace {
    static func isIn(_ value: String) -> Bool {
        value.utf8.first.map(isSpace) ?? false || value.utf8.last.map(isSpace) ?? false
    }

    static func removed(from value: String) -> String {
        guard let first = value.utf8.firstIndex(where: { !isSpace($0) }),
            let last = value.utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(value[first...last])
    }

    private static func isSpace(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }
}
