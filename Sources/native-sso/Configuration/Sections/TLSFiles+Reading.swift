import BrokerHTTP
import NativeSSO

extension TLSFiles {
    /// What became of a section that may be missing.
    enum Reading {
        case none
        /// Something was reported.
        case wrong
        case files(TLSFiles)

        var isNone: Bool { if case .none = self { true } else { false } }
        var isWrong: Bool { if case .wrong = self { true } else { false } }
        var files: TLSFiles? { if case .files(let files) = self { files } else { nil } }
    }

    /// How long before its end a certificate is warned of.
    private static let notice = Seconds.days(7)

    fileprivate typealias File = (path: String, octets: [UInt8])
}

extension TLSFiles.Reading {
    /// - Parameter isGiven: Whether the file has the section; its keys may also come from variables.
    init(reading section: Section, isGiven: Bool) {
        let hasKeys = section.isGiven("certificate") || section.isGiven("key")
        let certificate = section.value("certificate") { path throws(ValueDefect) -> TLSFiles.File in
            (path, try TLSFiles.contents(ofCertificate: path))
        }
        let key = section.value("key") { path throws(ValueDefect) -> TLSFiles.File in
            (path, try TLSFiles.contents(ofKey: path))
        }
        guard isGiven || hasKeys else {
            self = .none
            return
        }
        for name in ["certificate", "key"] where !section.isGiven(name) {
            section.report(name, "is missing; write the path of a PEM file")
        }
        guard let certificate, let key else {
            self = .wrong
            return
        }
        do throws(TLSIdentity.Defect) {
            let identity = try TLSIdentity(certificates: certificate.octets, key: key.octets)
            if let doubt = TLSFiles.doubt(about: identity, at: SystemClock().now) { section.warn("certificate", doubt) }
            self = .files(TLSFiles(certificate: certificate.path, key: key.path, identity: identity))
        } catch {
            section.report(
                error.isOfCertificate ? "certificate" : "key", error.message(certificate: certificate.path))
            self = .wrong
        }
    }
}

extension TLSFiles {
    /// What apps will not like about the certificate.
    static func doubt(about identity: TLSIdentity, at now: UnixTime) -> String? {
        if now < identity.notBefore { return "the certificate is not valid before \(identity.notBefore.rfc3339)" }
        if now > identity.notAfter { return "the certificate expired at \(identity.notAfter.rfc3339); apps refuse it" }
        if now.adding(notice) > identity.notAfter {
            return "the certificate expires at \(identity.notAfter.rfc3339)"
        }
        return nil
    }
}
