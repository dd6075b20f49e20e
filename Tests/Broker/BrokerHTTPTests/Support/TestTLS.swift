@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOSSL

extension CurrentTLSIdentity {
    convenience init(_ certificate: TestCertificate) throws { self.init(try TLSIdentity(certificate)) }
}

extension TLSIdentity {
    init(_ certificate: TestCertificate) throws {
        try self.init(certificates: Array(certificate.certificate.utf8), key: Array(certificate.key.utf8))
    }
}

extension TestCertificate {
    /// A client that trusts this certificate, and shows another one.
    func client(showing own: TestCertificate) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(own.certificate.utf8)).map {
            .certificate($0)
        }
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(own.key.utf8), format: .pem))
        return try NIOSSLContext(configuration: configuration)
    }

    /// A client that trusts this certificate and no other.
    func client(
        from oldest: TLSVersion = .tlsv12, to newest: TLSVersion = .tlsv13, protocols: [String] = ["http/1.1"]
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.minimumTLSVersion = oldest
        configuration.maximumTLSVersion = newest
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }
}
