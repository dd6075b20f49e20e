package import NIOHTTP1

/// The trace that a request belongs to: `traceparent` of W3C Trace Context. Only a trusted proxy's is read, because
/// every client can send one.
package struct TraceContext: Sendable, Hashable {
    /// 32 hexadecimal digits in lower case, not all zero.
    package let traceID: String
    /// The proxy's span: 16 hexadecimal digits in lower case, not all zero.
    package let spanID: String

    /// `nil` without exactly one valid field.
    package init?(_ headers: HTTPHeaders) {
        let fields = headers["traceparent"]
        guard fields.count == 1 else { return nil }
        self.init(traceparent: fields[0])
    }

    /// W3C Trace Context §3.2.2: `00-TRACE-SPAN-FLAGS`. A higher version may have more after the flags; `ff` is invalid.
    package init?(traceparent: String) {
        let octets = Array(traceparent.utf8)
        guard octets.count >= Self.length else { return nil }
        let isFirstVersion = octets[0] == UInt8(ascii: "0") && octets[1] == UInt8(ascii: "0")
        let hyphens = [2, 35, 52] + (octets.count > Self.length ? [Self.length] : [])
        guard octets.count == Self.length || !isFirstVersion,
            hyphens.allSatisfy({ octets[$0] == UInt8(ascii: "-") }), Self.isHexadecimal(octets[0..<2]),
            !octets[0..<2].allSatisfy({ $0 == UInt8(ascii: "f") }), Self.isHexadecimal(octets[53..<55]),
            let trace = Self.identifier(octets[3..<35]), let span = Self.identifier(octets[36..<52])
        else { return nil }
        (traceID, spanID) = (trace, span)
    }

    /// In octets, of version 00.
    private static let length = 55

    private static func identifier(_ octets: ArraySlice<UInt8>) -> String? {
        guard isHexadecimal(octets), octets.contains(where: { $0 != UInt8(ascii: "0") }) else { return nil }
        return String(decoding: octets, as: UTF8.self)
    }

    private static func isHexadecimal(_ octets: ArraySlice<UInt8>) -> Bool {
        octets.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }
}
