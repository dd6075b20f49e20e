package import HTTPServer

extension ConnectionCounts: MetricSource {
    package var samples: [MetricSample] {
        [
            MetricSample("connections", "Open connections to the public listener.", .gauge, open.value),
            MetricSample(
                "connections_refused_total", "Connections closed at once: public.max_connections was reached.",
                .counter, refused.value
            ),
            MetricSample(
                "connections_refused_for_address_total",
                "Connections closed at once: public.max_connections_per_address was reached.", .counter,
                refusedForAddress.value),
            MetricSample(
                "tls_handshakes_refused_total", "Connections closed before their TLS handshake: limits.handshakes.",
                .counter, handshakesRefused.value),
            MetricSample(
                "tls_handshakes_failed_total", "TLS handshakes that failed or took too long.", .counter,
                handshakesFailed.value),
            MetricSample(
                "http2_errors_total", "HTTP/2 connections closed because the client broke the protocol or a limit.",
                .counter,
                http2Failures.value),
            MetricSample(
                "buffered_octets",
                "Octets of unfinished requests and unsent answers on the public listener, beyond 8 KiB for each connection.",
                .gauge, Int64(bufferedOctets)),
        ]
    }
}

/// The certificates of the listeners.
package struct CertificateExpiry: MetricSource {
    private let identities: [CurrentTLSIdentity]

    package init(_ identities: [CurrentTLSIdentity]) {
        self.identities = identities
    }

    package var samples: [MetricSample] {
        identities.map(\.value.notAfter).min().map {
            [
                MetricSample(
                    "tls_certificate_not_after_seconds",
                    "When the first certificate in use expires, in Unix time.", .gauge, $0)
            ]
        } ?? []
    }
}
