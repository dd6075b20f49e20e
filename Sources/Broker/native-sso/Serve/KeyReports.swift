import BrokerHTTP
import KeyModule
import NativeSSO

/// The signatures of each key, their time, and the failures.
struct SignatureReport: MetricSource {
    let ring: KeyRing

    var samples: [MetricSample] {
        let keys = ring.signatures.sorted { $0.key < $1.key }
        func samples(
            _ name: StaticString, _ help: StaticString, _ value: (KeyRing.Signatures) -> Double
        ) -> [MetricSample] {
            MetricSample.each(
                name, help, .counter,
                labels: keys.map { kid, signatures in
                    let labels: [MetricSample.Label] = [("kid", kid), ("provider", signatures.provider)]
                    return (labels, value(signatures))
                })
        }
        return samples("signatures_total", "Tokens signed by each key.") { Double($0.count) }
            + samples("signature_seconds_total", "Time of these signatures.") { $0.time / .seconds(1) }
            + samples("signature_failures_total", "Signatures that the provider of the key did not make.") {
                Double($0.failures)
            }
    }
}

/// The codes that are at each identity provider now.
struct RelayReport: MetricSource {
    let slots: RelaySlots
    let relays: [(issuer: Issuer, slots: Int)]

    var samples: [MetricSample] {
        MetricSample.each(
            "relay_codes_in_flight", "Codes that are at an identity provider now.", .gauge,
            relays.map { (("issuer", $0.issuer.string), Double(slots.count(at: $0.issuer))) })
            + MetricSample.each(
                "relay_codes_maximum", "How many codes may be at an identity provider at once.", .gauge,
                relays.map { (("issuer", $0.issuer.string), Double($0.slots)) })
    }
}
