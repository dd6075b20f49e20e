import NIOHPACK
import NIOHTTP1
import NIOHTTP2

extension HTTPRequestHead {
    /// The head of an HTTP/2 request in the form of HTTP/1.1, so that the same ``HeadRules`` decide about both. RFC
    /// 9113 §8.3.1.
    ///
    /// NIO has already refused these with an error of the stream (``NIOHTTP2Error/isOfOneMessage``): names in upper
    /// case; missing, unknown, doubled or late pseudo-header fields; fields that belong to a connection; control
    /// characters; a body whose length differs from Content-Length.
    init(_ block: HPACKHeaders) throws(HTTPFault) {
        var fields: [(String, String)] = []
        fields.reserveCapacity(block.count)
        var pseudo: [String: String] = [:]
        for (name, value, _) in block {
            // RFC 9113 §8.2.1. Refused and not removed: in HTTP/2 the white space would be part of the value.
            guard !OuterWhitespace.isIn(value) else { throw .malformed }
            if name.utf8.first == UInt8(ascii: ":") { pseudo[name] = value } else { fields.append((name, value)) }
        }
        var headers = HTTPHeaders(fields)
        // RFC 9113 §8.3.1 has other schemes for gateways. Either scheme is right: a proxy may have ended TLS.
        guard let scheme = pseudo[":scheme"]?.lowercased(), ["https", "http"].contains(scheme) else { throw .malformed }
        if let authority = pseudo[":authority"] {
            // A request with two names could be routed by one and read by the other.
            guard headers["host"].allSatisfy({ $0.utf8.elementsEqual(authority.utf8) }) else { throw .host }
            headers.replaceOrAdd(name: "host", value: authority)
        }
        // As the parser of HTTP/1 does.
        let lengths = headers["content-length"]
        guard lengths.count <= 1, lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Token.isDigit) }) else {
            throw .malformed
        }
        self.init(
            version: HTTPVersion(major: 2, minor: 0), method: HTTPMethod(rawValue: pseudo[":method"] ?? ""),
            uri: pseudo[":path"] ?? "", headers: headers)
    }
}

extension HTTPAnswer {
    /// Fields whose values are the same few in every answer.
    private static let repeated = ["Content-Type", "Cache-Control", "Pragma", "X-Content-Type-Options"]

    /// The head of the answer as it is sent. RFC 9113 §8.3.2.
    ///
    /// A field whose value differs in each answer stays out of the compression table. The client sets the table's size,
    /// up to 4 GiB, and each field of each answer is searched in all of it.
    func block(date: String) -> HPACKHeaders {
        var block: HPACKHeaders = [":status": String(status.code)]
        forEachField(date: date) { name, value in
            block.add(
                name: name.lowercased(), value: value,
                indexing: Self.repeated.contains(name) ? .indexable : .nonIndexable)
        }
        return block
    }
}

extension NIOHTTP2Error {
    /// Whether one message is malformed and the rest is sound: an error of its stream alone, RFC 9113 §8.1.1.
    ///
    /// NIO resets the stream, and reports the error to the connection like a connection error. The check goes by type:
    /// some other types can be either.
    var isOfOneMessage: Bool {
        switch self {
        case is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
            is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidPseudoHeaders,
            is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.MissingPseudoHeader,
            is NIOHTTP2Errors.DuplicatePseudoHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
            is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.TrailersWithoutEndStream,
            is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.EmptyPathHeader,
            is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
            is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
            true
        default: false
        }
    }
}
