package import HTTPServer

extension ConnectionCounts: MetricSource {
    package var samples: [MetricSample] {
        [
            .gauge("connections", "Open connections to the public listener.", open.value),
            .counter(
                "connections_refused_total", "Connections closed at once: public.max_connections was reached.",
                refused.value),
            .counter(
                "connections_refused_for_address_total",
                "Connections closed at once: public.max_connections_per_address was reached.", refusedForAddress.value),
            .counter(
                "tls_handshakes_refused_total", "Connections closed before their TLS handshake: limits.handshakes.",
                handshakesRefused.value),
            .counter(
                "tls_handshakes_failed_total", "TLS handshakes that failed or took too long.", handshakesFailed.value),
            .counter(
                "http2_errors_total", "HTTP/2 connections closed because the client broke the protocol or a limit.",
                http2Failures.value),
            .gauge(
                "buffered_octets",
                "Octets of unfinished requests and unsent answers on the public listener, beyond 8 KiB for each connection.",
                bufferedOctets),
        ]
    }
}

/// The certificates of the listeners.
package struct CertificateExpiry: MetricSource {
    private let identities: [CurrentTLSIdentity]

    package init(_ identities: [CurrentTLSIdentity]) { self.identities = identities }

    package var samples: [MetricSample] {
        identities.map(\.value.notAfter).min().map {
            [
                .gauge(
                    "tls_certificate_not_after_seconds", "When the first certificate in use expires, in Unix time.", $0)
            ]
        } ?? []
    }
}
