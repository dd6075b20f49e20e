import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

// What every client of an identity provider does alike: it trusts the other side with nothing.

extension HTTPClient.Configuration {
    /// TLS 1.2 or later, certificates verified in full; no redirect, no decompression, no second attempt at a connection.
    /// - Parameter authorities: Who may vouch for the other side; `nil`: whom the system trusts.
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

/// Why a body is not taken, whatever it says.
enum BodyDefect: Error {
    case encoded
    case tooLarge
}

extension HTTPClientResponse {
    /// The body, as it came. Never more than `largest` octets are held.
    /// - Throws: ``BodyDefect``, or what became of the connection.
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

/// One deadline for all of it, from the look-up of a name to the last octet of a body.
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

/// Who may vouch for the certificate of an identity provider, in place of all whom the system trusts.
public struct CertificateAuthorities: Sendable, Hashable {
    let certificates: [NIOSSLCertificate]

    /// - Parameter pem: One certificate or more; `nil` for anything else.
    public init?(pem: [UInt8]) {
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(pem), !certificates.isEmpty else { return nil }
        self.certificates = certificates
    }
}
