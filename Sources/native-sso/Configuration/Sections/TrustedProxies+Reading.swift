import BrokerHTTP

extension TrustedProxies {
    private static let unixSocket = "unix"

    /// `trusted_proxies` and `forwarded_header` of the public listener.
    init?(reading section: Section) {
        let proxies = section.values("trusted_proxies", Proxy.init) ?? []
        let header = section.choice("forwarded_header", default: Header.xForwardedFor)
        if section.isGiven("forwarded_header"), !section.isGiven("trusted_proxies") {
            section.report("forwarded_header", "is believed from trusted_proxies alone, and none are given")
        }
        guard let header else { return nil }
        self.init(
            blocks: proxies.compactMap(\.value.block), includesUnixSocket: proxies.contains { $0.value.block == nil },
            header: header)
    }

    private struct Proxy {
        /// `nil`: the Unix socket.
        let block: AddressBlock?

        init(_ text: String) throws(ValueDefect) {
            if text.utf8.elementsEqual(unixSocket.utf8) {
                block = nil
                return
            }
            guard let block = AddressBlock(text) else {
                throw ValueDefect("write an address or a block of them, such as 10.0.0.0/8 or 2001:db8::7, or unix")
            }
            self.block = block
        }
    }
}
