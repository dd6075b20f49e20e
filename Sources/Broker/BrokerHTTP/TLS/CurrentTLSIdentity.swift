import NativeSSO
import Synchronization

/// The identity that new connections get. Those that are there keep theirs.
///
/// A session of the identity before is not resumed under the new one: each has ticket keys of its own.
public final class CurrentTLSIdentity: Sendable {
    private let identity: Mutex<TLSIdentity>

    public init(_ identity: TLSIdentity) {
        self.identity = Mutex(identity)
    }

    public var value: TLSIdentity { identity.withLock { $0 } }

    public func replace(by identity: TLSIdentity) { self.identity.withLock { $0 = identity } }
}

extension CurrentTLSIdentity: MetricSource {
    public var samples: [MetricSample] {
        [
            MetricSample(
                "tls_certificate_not_after_seconds", "When the certificate in use expires, in Unix time.", .gauge,
                value.notAfter.seconds)
        ]
    }
}
