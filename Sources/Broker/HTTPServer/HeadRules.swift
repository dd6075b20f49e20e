import NIOHTTP1

/// The rules for the head of a request before its body is read. RFC 9112 §3 and §6, narrowed to the needs of an origin
/// server that is not a proxy.
enum HeadRules {
    static func fault(of head: HTTPRequestHead, limits: ListenerLimits) -> HTTPFault? {
        if head.uri.utf8.count > limits.targetSize { return .targetTooLong }
        // The parser of HTTP/1 has already counted them.
        if head.headers.count > limits.headerFields { return .headerTooLarge }
        if head.uri.utf8.first != UInt8(ascii: "/") || head.method == .CONNECT { return .targetForm }
        let hosts = head.headers["host"]
        if hosts.count > 1 || hosts.isEmpty && isHTTP11(head) || !hosts.allSatisfy(Authority.isValid) { return .host }
        if let fault = framingFault(of: head, limits: limits) { return fault }
        // HTTP/1.0 has no expectations, RFC 9110 §10.1.1.
        if isHTTP11(head), head.headers.contains(name: "expect"), !expectsContinue(head) { return .expectation }
        return nil
    }

    private static func framingFault(of head: HTTPRequestHead, limits: ListenerLimits) -> HTTPFault? {
        let codings = head.headers["transfer-encoding"]
        if !codings.isEmpty {
            guard codings.count == 1, codings[0].lowercased() == "chunked", isHTTP11(head)
            else { return .transferCoding }
        }
        // The parser has refused a second Content-Length, and one that is not a number.
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

    /// Or later. The parser accepts only major version 1 with minor version 0 or 1.
    private static func isHTTP11(_ head: HTTPRequestHead) -> Bool { head.version.major > 1 || head.version.minor >= 1 }
}

/// Why a request cannot be answered on its merits. HTTP/1 then closes the connection, because the next octets may not
/// begin a request. HTTP/2 ends the stream.
package enum HTTPFault: Error, Sendable, CaseIterable {
    /// The parser refused it, for example for two lengths, a length and chunks, an obsolete line fold, or control
    /// characters.
    case malformed
    /// A method that the parser does not know.
    case method
    /// RFC 9112 §3.2 demands exactly one valid `Host`. Different servers read two of them differently.
    case host
    /// Not in origin form: only proxies receive the other forms. RFC 9112 §3.2.
    case targetForm
    /// Anything but `chunked`, or chunks in HTTP/1.0. RFC 9112 §6.1.
    case transferCoding
    /// Header fields after the body: the broker never reads them, but a proxy in front might.
    case trailers
    case chunkExtension
    case expectation
    case targetTooLong
    case headerTooLarge
    case bodyTooLarge
    case headerTimeout
    case bodyTimeout
    /// The client is not at fault: all connections together hold as much as ``ListenerLimits/bufferedOctets`` allows.
    case bodyMemory
}

extension HTTPHeaders {
    /// The same fields without spaces and tabs around their values; these are not part of a value. RFC 9110 §5.5.
    ///
    /// The parser leaves white space at the end. It ignores it when it frames the body: `Content-Length: 5 ` is 5, and
    /// `chunked ` means chunks. Removing it once, before any code reads a value, keeps every reader in agreement with
    /// that framing.
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
