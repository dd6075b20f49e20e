@testable import BrokerHTTP
import NIOHPACK
import NIOHTTP1

extension Readers {
    /// Lines of name, colon, value stand for a header block, as the frames have given it out; NIO's own checks come before and are
    /// left out here. A head that passes means one thing only.
    static func http2Head(_ octets: [UInt8]) throws -> Bool {
        var block = HPACKHeaders()
        for line in octets.split(separator: 0x0A, omittingEmptySubsequences: true) {
            let end = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            // Of such NIO makes no block.
            guard line[..<end].allSatisfy({ $0 < 0x80 }) else { return false }
            block.add(
                name: String(decoding: line[..<end], as: UTF8.self),
                value: String(decoding: line[end...].dropFirst(), as: UTF8.self))
        }
        let limits = ListenerLimits()
        guard let head = try? HTTPRequestHead(block), HeadRules.fault(of: head, limits: limits) == nil else {
            return false
        }
        try hold(head.headers.count <= limits.headerFields, "more fields than are allowed")
        try hold(head.uri.utf8.first == UInt8(ascii: "/"), "a target that is no path")
        let hosts = head.headers["host"]
        try hold(hosts.count <= 1, "more than one host")
        for host in hosts {
            try hold(!host.isEmpty && !host.utf8.contains { "@/?#\\ \t".utf8.contains($0) }, "a host that is none")
        }
        for (_, value) in head.headers { try hold(!OuterWhitespace.isIn(value), "a value with spaces around it") }
        if let length = head.headers.first(name: "content-length") {
            try hold(Int(length).map { (0...limits.bodySize).contains($0) } == true, "a length that is none")
        }
        // What is written as HTTP/1.1 is read as the same.
        try hold(head.headers.withoutOuterWhitespace == head.headers, "values that change when they are read again")
        return true
    }
}
