import BrokerHTTP
import KeyModule
import NativeSSO

/// The key ring as the internal listener publishes it.
struct PublishedKeyRing: PublishedKeys {
    let ring: KeyRing

    func keySet() async throws(PortError) -> [UInt8] {
        guard let keys = ring.current else { throw .outage(Outage(.keyModule, "no keys were loaded yet")) }
        return keys.jwks
    }

    /// Far below the time for which a key is published before it signs.
    let maximumAge: Seconds = .minutes(5)
}
