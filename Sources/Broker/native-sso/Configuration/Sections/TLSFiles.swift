import BrokerHTTP
import HTTPServer
import NativeSSO
import RegularFiles

/// `tls` of a listener: the files of its certificate and key, and their contents.
struct TLSFiles: Sendable {
    /// PEM: the listener's own certificate first, then those that lead to a root.
    let certificate: String
    /// PEM, not encrypted; readable by its owner alone.
    let key: String
    /// PEM; `nil`: clients show no certificate.
    let clientAuthorities: String?
    /// The contents at the time of reading the configuration.
    let identity: TLSIdentity

    /// The broker warns this long before a certificate expires.
    private static let notice = Seconds.days(7)

    /// Reads the files again.
    func read() throws(ValueDefect) -> TLSIdentity {
        let chain = try RegularFile.trusted(certificate)
        let octets = try RegularFile.confidential(key)
        let authorities = try clientAuthorities.map { path throws(ValueDefect) in try RegularFile.trusted(path) }
        do throws(TLSIdentity.Defect) {
            return try TLSIdentity(certificates: chain, key: octets, clientAuthorities: authorities)
        } catch {
            throw ValueDefect(error.message(certificate: certificate))
        }
    }

    /// A warning about the validity of the certificate.
    static func doubt(about identity: TLSIdentity, at now: UnixTime) -> String? {
        let (notBefore, notAfter) = (UnixTime(seconds: identity.notBefore), UnixTime(seconds: identity.notAfter))
        if now < notBefore { return "the certificate is not valid before \(notBefore.rfc3339)" }
        if now > notAfter { return "the certificate expired at \(notAfter.rfc3339); apps refuse it" }
        if now.adding(notice) > notAfter {
            return "the certificate expires at \(notAfter.rfc3339)"
        }
        return nil
    }
}

extension TLSFiles {
    /// `nil` without files, or if a problem was reported.
    /// - Parameter asksClients: Whether clients may have to show a certificate.
    init?(reading section: Section, isGiven: Bool, asksClients: Bool = false) {
        let chain = section.file(
            "certificate",
            help: "PEM: the broker's certificate first, then the chain to a root. SIGHUP reads it again."
        ) { ($0, try RegularFile.trusted(try PathText.absolute($0))) }
        let secret = section.file(
            "key", help: "PEM without a password. Only its owner may read the file."
        ) { ($0, try RegularFile.confidential(try PathText.absolute($0))) }
        let authorities =
            asksClients
            ? section.file(
                "client_ca",
                help: """
                    PEM: the authorities of clients' certificates. Clients must show one; then `listen` may be any address. \
                    SIGHUP reads it again.
                    """
            ) { ($0, try RegularFile.trusted(try PathText.absolute($0))) } : nil
        for name in ["certificate", "key"] where isGiven && !section.isGiven(name) {
            section.report(name, "is missing; write the path of a PEM file")
        }
        guard let (certificate, chain) = chain, let (key, secret) = secret else { return nil }
        do throws(TLSIdentity.Defect) {
            self.init(
                certificate: certificate, key: key, clientAuthorities: authorities?.0,
                identity: try TLSIdentity(certificates: chain, key: secret, clientAuthorities: authorities?.1))
        } catch {
            section.report(error.setting, error.message(certificate: certificate))
            return nil
        }
        if let doubt = Self.doubt(about: identity, at: SystemClock().now) { section.warn("certificate", doubt) }
    }
}

extension TLSIdentity.Defect {
    /// The key of the configuration whose file is wrong.
    var setting: String {
        switch self {
        case .certificate: "certificate"
        case .key, .mismatch: "key"
        case .authorities: "client_ca"
        }
    }

    func message(certificate: String) -> String {
        switch self {
        case .certificate: "the file holds no certificates in PEM, the listener's own first"
        case .key: "the file holds no private key in PEM that can be read without a password"
        case .authorities: "the file holds no certificates of authorities in PEM"
        case .mismatch: "the key does not belong to the first certificate of \(certificate)"
        }
    }
}
