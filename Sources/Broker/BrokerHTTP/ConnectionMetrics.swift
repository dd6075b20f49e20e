public import HTTPServer

extension ConnectionCounts: MetricSource {
    public var samples: [MetricSample] {
        [
            MetricSample("connections", "Connections to the public listener now.", .gauge, open.value),
            MetricSample(
                "connections_refused_total", "Connections closed at once: there were too many.", .counter, refused.value
            ),
            MetricSample(
                "connections_refused_for_address_total",
                "Connections closed at once: there were too many from one address.", .counter, refusedForAddress.value),
            MetricSample(
                "tls_handshakes_failed_total", "Handshakes that failed or took too long.", .counter,
                handshakesFailed.value),
            MetricSample(
                "http2_errors_total", "HTTP/2 connections ended by what their clients did.", .counter,
                http2Failures.value),
            MetricSample(
                "buffered_octets",
                "Unfinished requests and untaken answers of the public listener, beyond each connection's own 8 KiB.",
                .gauge, Int64(bufferedOctets)),
        ]
    }
}

extension CurrentTLSIdentity: MetricSource {
    public var samples: [MetricSample] {
        [
            MetricSample(
                "tls_certificate_not_after_seconds", "When the certificate in use expires, in Unix time.", .gauge,
                value.notAfter)
        ]
    }
}
