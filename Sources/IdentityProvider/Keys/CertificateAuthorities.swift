import NIOSSL

/// Who may vouch for the certificate of an identity provider, in place of all whom the system trusts.
public struct CertificateAuthorities: Sendable, Hashable {
    let certificates: [NIOSSLCertificate]

    /// - Parameter pem: One certificate or more; `nil` for anything else.
    public init?(pem: [UInt8]) {
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(pem), !certificates.isEmpty else { return nil }
        self.certificates = certificates
    }
}
