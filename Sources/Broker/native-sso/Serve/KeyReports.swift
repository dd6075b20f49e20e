import BrokerHTTP
import KeyModule
import NativeSSO

/// The signatures of each key, and their time.
struct SignatureReport: MetricSource {
    let ring: KeyRing

    var samples: [MetricSample] {
        let counts = ring.signatures.sorted { $0.key < $1.key }.map { (MetricSample.Label("kid", $0.key), $0.value) }
        return MetricSample.each(
            "signatures_total", "Tokens signed by each key.", .counter, counts.map { ($0, Double($1.count)) })
            + MetricSample.each(
                "signature_seconds_total", "Time of these signatures.", .counter,
                counts.map { label, signatures in
                    let (seconds, attoseconds) = signatures.time.components
                    return (label, Double(seconds) + Double(attoseconds) / 1e18)
                })
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
