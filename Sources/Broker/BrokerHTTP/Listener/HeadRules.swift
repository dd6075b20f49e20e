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
