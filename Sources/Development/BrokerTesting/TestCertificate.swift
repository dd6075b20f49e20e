package import Crypto
import Glibc
package import NativeSSO
import StrictCoding

/// A self-signed certificate and its key, made on the spot: RFC 5280 with the least that a TLS client wants to see.
package struct TestCertificate: Sendable {
    /// PEM, PKCS #8.
    package let key: String
    /// PEM.
    package let certificate: String
    package let privateKey: P256.Signing.PrivateKey

    /// - Parameters:
    ///   - name: Its only DNS name.
    ///   - address: Its only IP address, dotted decimal.
    package init(
        name: String = "sso.example.test", address: [UInt8] = [127, 0, 0, 1], notBefore: UnixTime, notAfter: UnixTime,
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
    ) throws {
        let signer = DER.sequence([DER.ecdsaWithSHA256])
        let subject = DER.sequence([
            DER.set([DER.sequence([DER.commonName, DER.tagged(0x0C, Array(name.utf8))])])
        ])
        let names = DER.sequence([DER.tagged(0x82, Array(name.utf8)), DER.tagged(0x87, address)])
        let extensions = DER.sequence([
            DER.sequence([DER.subjectAlternativeName, DER.tagged(0x04, names)])
        ])
        // Positive, and another for each certificate.
        let serial = [0x01] + (0..<8).map { _ in UInt8.random(in: 0...255) }
        let toBeSigned = DER.sequence([
            DER.tagged(0xA0, DER.tagged(0x02, [2])), DER.tagged(0x02, serial), signer, subject,
            DER.sequence([DER.time(notBefore), DER.time(notAfter)]), subject, Array(key.publicKey.derRepresentation),
            DER.tagged(0xA3, extensions),
        ])
        let signature = try key.signature(for: toBeSigned).derRepresentation
        let octets = DER.sequence([toBeSigned, signer, DER.tagged(0x03, [0] + signature)])
        certificate = PEM.encode(octets, label: "CERTIFICATE")
        self.key = key.pemRepresentation + "\n"
        privateKey = key
    }

    /// Good from an hour ago until in 30 days.
    package static func current() throws -> TestCertificate {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let seconds = Int64(now.tv_sec)
        return try TestCertificate(
            notBefore: UnixTime(seconds: seconds - 3600), notAfter: UnixTime(seconds: seconds + 30 * 86_400))
    }
}

private enum DER {
    static let ecdsaWithSHA256: [UInt8] = [0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]
    static let commonName: [UInt8] = [0x06, 3, 0x55, 4, 3]
    static let subjectAlternativeName: [UInt8] = [0x06, 3, 0x55, 0x1D, 0x11]

    static func sequence(_ parts: [[UInt8]]) -> [UInt8] { tagged(0x30, Array(parts.joined())) }
    static func set(_ parts: [[UInt8]]) -> [UInt8] { tagged(0x31, Array(parts.joined())) }

    static func tagged(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
            }
        return [tag] + length + contents
    }

    /// UTCTime: for years up to 2049.
    static func time(_ instant: UnixTime) -> [UInt8] {
        var seconds = time_t(instant.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let digits = [parts.tm_year % 100, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec]
        let text = digits.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "Z"
        return tagged(0x17, Array(text.utf8))
    }
}

private enum PEM {
    static func encode(_ octets: [UInt8], label: String) -> String {
        let text = Base64.encode(octets)
        let lines = stride(from: 0, to: text.count, by: 64).map { text.dropFirst($0).prefix(64) }
        return "-----BEGIN \(label)-----\n\(lines.joined(separator: "\n"))\n-----END \(label)-----\n"
    }
}
