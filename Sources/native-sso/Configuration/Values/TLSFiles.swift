import BrokerHTTP
import RegularFiles

/// `tls` of the public listener: the files of its certificate and key, and what was in them.
struct TLSFiles: Sendable {
    /// PEM: the listener's own certificate first, then those that lead to a root.
    let certificate: String
    /// PEM, not encrypted; readable by its owner alone.
    let key: String
    /// As it was when the configuration was read.
    let identity: TLSIdentity

    private static let limit = 1 << 20

    /// The same files, as they are now.
    func read() throws(ValueDefect) -> TLSIdentity {
        let chain = try Self.contents(ofCertificate: certificate)
        let octets = try Self.contents(ofKey: key)
        do throws(TLSIdentity.Defect) {
            return try TLSIdentity(certificates: chain, key: octets)
        } catch {
            throw ValueDefect(error.message(certificate: certificate))
        }
    }

    /// Whoever may write it may put a certificate there that no app accepts.
    static func contents(ofCertificate path: String) throws(ValueDefect) -> [UInt8] {
        let file = try RegularFile.contents(try PathText.absolute(path), limit: limit)
        guard !file.isWritableByAnyone else { throw ValueDefect("everyone can write the file; run chmod o-w on it") }
        return file.octets
    }

    static func contents(ofKey path: String) throws(ValueDefect) -> [UInt8] {
        let file = try RegularFile.contents(try PathText.absolute(path), limit: limit)
        guard !file.isOpenToOthers else {
            throw ValueDefect("group or others can access the file; run chmod 600 on it")
        }
        return file.octets
    }
}

extension TLSIdentity.Defect {
    /// Whether it is the certificate's file that is wrong.
    var isOfCertificate: Bool { if case .certificate = self { true } else { false } }

    func message(certificate: String) -> String {
        switch self {
        case .certificate: "the file holds no certificates in PEM, the listener's own first"
        case .key: "the file holds no private key in PEM that can be read without a password"
        case .mismatch: "the key does not belong to the first certificate of \(certificate)"
        }
    }
}
