import BrokerHTTP
import NativeSSO

extension RequestLimits {
    /// `limits`: how often anybody may ask. Each broker counts by itself.
    ///
    /// - Parameter tellsCallersApart: Whether the public listener does.
    init(reading section: Section, tellsCallersApart: Bool) {
        let standard = RequestLimits()
        func limit(_ key: String, _ standard: RateLimit?) -> RateLimit? {
            section.value(key, RateText.parse).map(\.limit) ?? standard
        }
        func addressLimit(_ key: String, _ standard: RateLimit?) -> RateLimit? {
            let rate = section.value(key, RateText.parse)
            if rate?.limit != nil, !tellsCallersApart {
                section.report(
                    key,
                    "counts by address, and behind a proxy on this host everybody has the same one; name the proxy in "
                        + "public.trusted_proxies, or write off")
            }
            return rate.map(\.limit) ?? standard
        }
        self.init(
            listener: limit("listener", standard.listener),
            address: addressLimit("address", standard.address),
            network: addressLimit("network", standard.network),
            client: limit("client", standard.client),
            clientFailures: addressLimit("client_failures", standard.clientFailures),
            session: limit("session", standard.session),
            user: limit("user", standard.user),
            device: limit("device", standard.device),
            deviceFailures: limit("device_failures", standard.deviceFailures),
            code: addressLimit("code", standard.code),
            logout: limit("logout", standard.logout))
    }
}
