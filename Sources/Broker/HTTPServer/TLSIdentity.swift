import NIOCore
import NIOSSL
import Synchronization

/// A certificate chain and its private key, with which a listener proves its name.
package struct TLSIdentity: Sendable {
    package enum Defect: Error, Sendable {
        /// Not a chain of certificates in PEM, the listener's own first.
        case certificate
        /// Not one unencrypted private key in PEM.
        case key
        /// The key is not that of the first certificate.
        case mismatch
        /// Not certificates of authorities in PEM.
        case authorities
    }

    let context: NIOSSLContext
    /// The validity of the listener's own certificate, in seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64

    /// - Parameters:
    ///   - certificates: PEM, the listener's own first, then the intermediate ones.
    ///   - key: PEM.
    ///   - clientAuthorities: PEM. Clients must show a certificate that one of them issued; `nil`: clients show none.
    package init(certificates: [UInt8], key: [UInt8], clientAuthorities: [UInt8]? = nil) throws(Defect) {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(certificates), let own = chain.first else {
            throw .certificate
        }
        guard let key = try? NIOSSLPrivateKey(bytes: key, format: .pem) else { throw .key }
        var configuration = Self.configuration(chain, key)
        if let clientAuthorities {
            guard let authorities = try? NIOSSLCertificate.fromPEMBytes(clientAuthorities), !authorities.isEmpty else {
                throw .authorities
            }
            configuration.trustRoots = .certificates(authorities)
            // Every holder of a certificate may ask: its names mean nothing here.
            configuration.certificateVerification = .noHostnameVerification
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else { throw .mismatch }
        self.context = context
        notBefore = Int64(own.notValidBefore)
        notAfter = Int64(own.notValidAfter)
    }

    /// TLS 1.3, and 1.2 with forward secrecy and authenticated encryption: RFC 9325 §4.2. No renegotiation, no early
    /// data.
    private static func configuration(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        configuration.applicationProtocols = ApplicationProtocol.allCases.map(\.rawValue)
        // How long to wait for the client to answer close_notify.
        configuration.shutdownTimeout = .seconds(2)
        return configuration
    }
}

/// The protocols inside TLS under their ALPN names (RFC 7301), the preferred one first.
enum ApplicationProtocol: String, CaseIterable {
    case http2 = "h2"
    case http1 = "http/1.1"
}

/// The identity for new connections. Open connections keep theirs.
///
/// A TLS session of the previous identity cannot resume under the new one: each has its own ticket keys.
package final class CurrentTLSIdentity: Sendable {
    private let identity: Mutex<TLSIdentity>

    package init(_ identity: TLSIdentity) { self.identity = Mutex(identity) }

    package var value: TLSIdentity { identity.withLock { $0 } }

    package func replace(by identity: TLSIdentity) { self.identity.withLock { $0 = identity } }
}
