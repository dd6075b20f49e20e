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
    /// A client that trusts this certificate and no other.
    /// - Parameter own: The certificate that the client shows.
    func client(protocols: [String] = ["http/1.1"], showing own: TestCertificate? = nil) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.applicationProtocols = protocols
        if let own {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(own.certificate.utf8)).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(own.key.utf8), format: .pem))
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
