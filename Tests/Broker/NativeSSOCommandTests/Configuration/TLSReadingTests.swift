import BrokerHTTP
import BrokerTesting
import NativeSSO
import Testing

import HTTPServer
@testable import native_sso

/// `public.tls`: reading the configuration also reads the files of `tls`.
@Suite struct TLSReadingTests {
    private static let now = SystemClock().now

    private static func certificate(from: Seconds = -3600, to: Seconds = .days(30)) throws -> TestCertificate {
        try TestCertificate(notBefore: now.adding(from), notAfter: now.adding(to))
    }

    private static func yaml(_ certificate: String, _ key: String, more: String = "") -> String {
        SampleFile.adding("public: { \(more)tls: { certificate: \(certificate), key: \(key) } }")
    }

    private func files(
        _ certificate: TestCertificate, certificateMode: UInt32 = 0o644, keyMode: UInt32 = 0o600
    ) throws -> (certificate: TemporaryFile, key: TemporaryFile) {
        (
            try TemporaryFile(certificate.certificate, mode: certificateMode),
            try TemporaryFile(certificate.key, mode: keyMode)
        )
    }

    @Test func withTLSAnyAddressWillDo() throws {
        let (certificate, key) = try files(try Self.certificate())
        let text = Self.yaml(certificate.path, key.path, more: "listen: \"0.0.0.0:8443\", ")
        let listener = try SampleFile.read(text).publicListener
        #expect(listener.tls?.certificate == certificate.path)
        #expect(listener.tls?.key == key.path)
        #expect(listener.tls?.identity.notAfter == Self.now.adding(.days(30)).seconds)
        #expect(listener.maximumConnectionsPerAddress == 256)
        #expect(try SampleFile.warnings(text).isEmpty)
    }

    private static let (certificateKey, keyKey) = (
        "test.yaml:10: public.tls.certificate: ", "test.yaml:10: public.tls.key: "
    )

    @Test func contentsMustBeWhatTheyAreSaidToBe() throws {
        let (certificate, key) = try files(try Self.certificate())
        let (_, stranger) = try files(try Self.certificate())
        let text = try TemporaryFile("no key")
        for (first, second, problem) in [
            (
                certificate, stranger,
                "\(Self.keyKey)the key does not belong to the first certificate of \(certificate.path)"
            ),
            (key, key, Self.certificateKey + "the file holds no certificates in PEM, the listener's own first"),
            (
                certificate, text,
                Self.keyKey + "the file holds no private key in PEM that can be read without a password"
            ),
        ] {
            #expect(SampleFile.problems(Self.yaml(first.path, second.path)) == [problem])
        }
        #expect(
            SampleFile.problems(Self.yaml(certificate.path, key.path, more: "plain_http: behind-proxy, ")) == [
                "test.yaml:10: public.plain_http: tls is given as well, and then nothing is plain; remove one of them"
            ])
    }

    @Test func aKeyIsItsOwnersAlone() throws {
        let (certificate, key) = try files(try Self.certificate(), certificateMode: 0o646, keyMode: 0o640)
        #expect(
            SampleFile.problems(Self.yaml(certificate.path, key.path)) == [
                Self.certificateKey + "everyone can write the file; run chmod o-w on it",
                Self.keyKey + "group or others can access the file; run chmod 600 on it",
            ])
    }

    @Test func whatAppsWillNotLikeIsAWarning() throws {
        for (from, to, words) in [
            (Seconds.days(-30), Seconds.days(-1), "the certificate expired at "),
            (.days(-30), .days(6), "the certificate expires at "),
            (.days(1), .days(30), "the certificate is not valid before "),
        ] {
            let (certificate, key) = try files(try Self.certificate(from: from, to: to))
            let warnings = try SampleFile.warnings(Self.yaml(certificate.path, key.path))
            #expect(warnings.count == 1 && warnings[0].contains("public.tls.certificate: \(words)"), "\(warnings)")
        }
    }
}
