import BrokerTesting
import Foundation
import NIOSSL

/// What the broker proves its name with, and whom its clients trust.
struct TLSFiles {
    let environment: [String: String]
    let client: NIOSSLContext

    init(_ certificate: TestCertificate, in directory: String) throws {
        var environment: [String: String] = [:]
        for (name, text) in [("CERTIFICATE", certificate.certificate), ("KEY", certificate.key)] {
            let path = "\(directory)/tls-\(name.lowercased()).pem"
            guard
                FileManager.default.createFile(
                    atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            else { throw Program.Failure(description: "cannot write \(path)") }
            environment["NATIVE_SSO_PUBLIC_TLS_\(name)"] = path
        }
        self.environment = environment
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(certificate.certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.applicationProtocols = ["http/1.1"]
        client = try NIOSSLContext(configuration: configuration)
    }
}
