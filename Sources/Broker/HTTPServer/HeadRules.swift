import NIOHTTP1

/// What the head of a request must be before its body is read. RFC 9112 §3 and §6, narrowed to what an origin server that
/// is not a proxy needs.
enum HeadRules {
    static func fault(of head: HTTPRequestHead, limits: ListenerLimits) -> HTTPFault? {
        if head.uri.utf8.count > limits.targetSize { return .targetTooLong }
        // The parser of HTTP/1 has counted them before.
        if head.headers.count > limits.headerFields { return .headerTooLarge }
        if head.uri.utf8.first != UInt8(ascii: "/") || head.method == .CONNECT { return .targetForm }
        let hosts = head.headers["host"]
        if hosts.count > 1 || hosts.isEmpty && isHTTP11(head) || !hosts.allSatisfy(Authority.isValid) { return .host }
        if let fault = framingFault(of: head, limits: limits) { return fault }
        // In HTTP/1.0 it means nothing, RFC 9110 §10.1.1.
        if isHTTP11(head), head.headers.contains(name: "expect"), !expectsContinue(head) { return .expectation }
        return nil
    }

    private static func framingFault(of head: HTTPRequestHead, limits: ListenerLimits) -> HTTPFault? {
        let codings = head.headers["transfer-encoding"]
        if !codings.isEmpty {
            guard codings.count == 1, codings[0].lowercased() == "chunked", isHTTP11(head)
            else { return .transferCoding }
        }
        // The parser has refused every Content-Length that is no number, and more than one of them.
        if let length = head.headers.first(name: "content-length"), (Int(length) ?? .max) > limits.bodySize {
            return .bodyTooLarge
        }
        return nil
    }

    static func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        let expectations = head.headers["expect"]
        return expectations.count == 1 && expectations[0].lowercased() == "100-continue"
            && isHTTP11(head)
    }

    /// Or later. The parser takes no other major version than 1, and no minor one above 1.
    private static func isHTTP11(_ head: HTTPRequestHead) -> Bool { head.version.major > 1 || head.version.minor >= 1 }

    /// The parser stops after such a request, because another protocol could follow.
    static func asksForUpgrade(_ head: HTTPRequestHead) -> Bool {
        head.headers.contains(name: "upgrade")
    }
}

/// Why what arrived on a connection is no request that may be answered on its merits. After any of these the connection
/// is closed: what follows on it cannot be trusted to be where it seems.
package enum HTTPFault: Error, Sendable, CaseIterable {
    /// The parser refused it: two lengths, a length and chunks, an obsolete line fold, control characters, …
    case malformed
    /// A method that the parser does not know.
    case method
    /// RFC 9112 §3.2: exactly one `Host`, and it is one. Two of them are read differently by different servers.
    case host
    /// Not in origin form: only a proxy is asked in another. RFC 9112 §3.2.
    case targetForm
    /// Anything but `chunked`, or chunks in HTTP/1.0. RFC 9112 §6.1.
    case transferCoding
    /// Header fields after the body: nothing here reads them, something in front of us might.
    case trailers
    case chunkExtension
    case expectation
    case targetTooLong
    case headerTooLarge
    case bodyTooLarge
    case headerTimeout
    case bodyTimeout
    /// Not the client's doing: all connections together keep as much as ``ListenerLimits/bufferedOctets`` allows.
    case bodyMemory
}

extension HTTPHeaders {
    /// The same fields, whose values neither begin nor end with a space or a tab: such are no part of a value. RFC 9110 §5.5.
    ///
    /// The parser leaves those at the end. They go once, before anything reads a value, so that nothing reads it in another way
    /// than the parser has framed the body by: that takes `Content-Length: 5 ` for 5, and `chunked ` for chunks.
    var withoutOuterWhitespace: HTTPHeaders {
        guard contains(where: { OuterWhitespace.isIn($0.value) }) else { return self }
        return HTTPHeaders(map { ($0.name, String(OuterWhitespace.removed(from: $0.value))) })
    }
}

/// Spaces and tabs around the value of a field.
package enum OuterWhitespace {
    static func isIn(_ value: String) -> Bool {
        value.utf8.first.map(isSpace) ?? false || value.utf8.last.map(isSpace) ?? false
    }

    /// The value without them.
    package static func removed(from value: some StringProtocol) -> Substring {
        var octets = Substring(value).utf8
        while let octet = octets.first, isSpace(octet) { octets.removeFirst() }
        while let octet = octets.last, isSpace(octet) { octets.removeLast() }
        return Substring(octets)
    }

    private static func isSpace(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }
}
