import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

// The rules that all clients of an IdP share: they do not trust the server.

extension HTTPClient.Configuration {
    /// TLS 1.2 or later with full certificate verification; no redirects, decompression or connection retries.
    /// - Parameter authorities: The CAs that may sign the server's certificate; `nil`: the system's CAs.
    static func untrusting(authorities: CertificateAuthorities?) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = .certificates(authorities.certificates) }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}

extension NIOSSLError {
    /// Whether a TLS handshake failed because the server's certificate is not trusted, or is another host's.
    static func isAboutTrust(_ error: any Error) -> Bool {
        if error is NIOSSLExtraError { return error as? NIOSSLExtraError == .failedToValidateHostname }
        guard case .handshakeFailed(.sslError(let reasons)) = error as? NIOSSLError else { return false }
        return reasons.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
    }
}

/// Why a body was refused unread.
enum BodyDefect: Error {
    case encoded
    case tooLarge
}

extension HTTPClientResponse {
    /// The body, unchanged; buffers at most `largest` octets.
    /// - Throws: ``BodyDefect``, or the connection's error.
    func untrustedBody(atMost largest: Int) async throws -> [UInt8] {
        guard !headers.contains(name: "content-encoding") else { throw BodyDefect.encoded }
        if let length = headers.first(name: "content-length").flatMap({ Int($0) }), length > largest {
            throw BodyDefect.tooLarge
        }
        var octets: [UInt8] = []
        for try await part in body {
            guard octets.count + part.readableBytes <= largest else { throw BodyDefect.tooLarge }
            octets.append(contentsOf: part.readableBytesView)
        }
        return octets
    }
}

/// Applies one deadline to a whole request, from the DNS look-up to the last octet of the body.
func within<Success: Sendable, Failure: Error>(
    _ timeout: Duration, otherwise timedOut: Failure,
    _ body: @escaping @Sendable () async -> Result<Success, Failure>
) async throws(Failure) -> Success {
    let outcome = await withTaskGroup { group -> Result<Success, Failure> in
        group.addTask { await body() }
        group.addTask {
            try? await Task.sleep(for: timeout)
            return .failure(timedOut)
        }
        let first = await group.next()
        group.cancelAll()  // ends the sleep, or closes the connection
        return first ?? .failure(timedOut)
    }
    return try outcome.get()
}

/// The CAs that may sign an IdP's certificate, instead of the system's CAs.
package struct CertificateAuthorities: Sendable, Hashable {
    let certificates: [NIOSSLCertificate]

    /// - Parameter pem: One or more certificates; `nil` for anything else.
    package init?(pem: [UInt8]) {
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(pem), !certificates.isEmpty else { return nil }
        self.certificates = certificates
    }
}
