@testable import BrokerHTTP
import NIOHTTP1

extension Readers {
    private static let client = NetworkAddress("192.0.2.7").map(ClientAddress.init)
    private static let proxy = NetworkAddress("10.0.0.1")

    /// What a client writes of where it comes from never changes what the proxy says of it.
    static func forwarded(_ octets: [UInt8]) throws -> Bool {
        // As the parser of HTTP lets a value through.
        guard octets.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else { return false }
        let text = String(decoding: octets, as: UTF8.self)
        guard let block = AddressBlock("10.0.0.0/8") else { throw Violation(description: "no block") }
        var isAddress = false
        for (header, added) in [
            (TrustedProxies.Header.forwarded, "for=192.0.2.7"), (.forwarded, "proto=https;For=\"192.0.2.7:47011\""),
            (.xForwardedFor, "192.0.2.7"),
        ] {
            let proxies = TrustedProxies(blocks: [block], header: header)
            let name = header.rawValue
            for fields in [[(name, text + ", " + added)], [(name, text), (name, added)]] {
                try hold(
                    proxies.client(of: proxy, HTTPHeaders(fields)) == client, "a client is another: \(name): \(text)")
            }
            let alone = proxies.client(of: proxy, HTTPHeaders([(name, text)]))
            try hold(alone != nil, "a request of nobody")
            isAddress = isAddress || alone?.prefix.map { !block.contains($0) } == true
        }
        if let address = ForwardedNode.address(text) {
            try hold(NetworkAddress(address.description) == address, "an address is not read as it is written")
        }
        return isAddress
    }
}
