import BrokerHTTP
import NativeSSO

extension RequestLimits {
    /// `limits`: how often anybody may ask. Each broker counts by itself.
    init?(reading section: Section) {
        let standard = RequestLimits()
        var isSound = true
        func limit(_ key: String, _ standard: RateLimit?) -> RateLimit? {
            guard section.isGiven(key) else {
                _ = section.value(key, RateText.parse)
                return standard
            }
            guard let rate = section.value(key, RateText.parse) else {
                isSound = false
                return nil
            }
            return rate.limit
        }
        self.init(
            address: limit("address", standard.address),
            network: limit("network", standard.network),
            client: limit("client", standard.client),
            clientFailures: limit("client_failures", standard.clientFailures),
            session: limit("session", standard.session),
            user: limit("user", standard.user),
            device: limit("device", standard.device),
            deviceFailures: limit("device_failures", standard.deviceFailures))
        guard isSound else { return nil }
    }
}
