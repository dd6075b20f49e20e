import BrokerHarness
import BrokerTesting
import ChildProcesses
import Foundation
import Glibc
import NativeSSO
import Testing

/// TLS as other programs see it: curl and openssl.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    @Test func `nothing in the clear is answered, nothing older than TLS 1.2, and nothing but tokens over TLS`()
        async throws
    {
        try await withBroker { installation, broker, port in
            let plain = try await run(["/usr/bin/env", "curl", "-s", "-m", "20", "http://127.0.0.1:\(port)/token"])
            #expect(plain.output.isEmpty && plain.status != 0)
            let options = ["--http2", "-o", "/dev/null"]
            #expect(try await curl(installation, port, options, TokenForm([:]), path: "/metrics").hasSuffix("2 404"))
            #expect(try await broker.get("/metrics").text.contains("native_sso_tls_handshakes_failed_total 1\n"))

            for (index, options) in [
                ["--http1.1"], ["--http2"], ["--tls-max", "1.2", "--http2"], ["--tlsv1.3", "--http1.1"],
            ].enumerated() {
                let form = try Login(installation, sid: "s\(index)").exchange(by: "app2")
                let answer = try await curl(installation, port, options, form)
                let version = options.contains("--http2") ? "2" : "1.1"
                #expect(answer.hasSuffix("\n\(version) 200") && answer.contains("access_token"), "\(answer)")
            }

            // openssl uses its lowest security level, so the refusal comes from the broker.
            for (version, agreed) in [("tls1", nil), ("tls1_1", nil), ("tls1_2", "TLSv1.2"), ("tls1_3", "TLSv1.3")] {
                let output = try await openssl(port, ["-\(version)", "-cipher", "ALL:@SECLEVEL=0"])
                #expect(output.contains("New, \(agreed ?? "(NONE)"), "), "\(version): \(output)")
                if agreed == nil { #expect(output.contains("alert protocol version"), "\(output)") }
            }
            // The broker requires forward secrecy and authenticated encryption.
            for cipher in ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"] {
                let output = try await openssl(port, ["-tls1_2", "-cipher", "\(cipher):@SECLEVEL=0"])
                #expect(output.contains("New, (NONE), "), "\(cipher): \(output)")
            }
        }
    }

    @Test func `SIGHUP takes the new certificate, and keeps the present one where the new files are wrong`()
        async throws
    {
        try await withBroker { installation, broker, port in
            let ticket = installation.file("session")
            #expect(try await openssl(port, ["-tls1_2", "-sess_out", ticket]).contains("New, TLSv1.2"))
            #expect(try await openssl(port, ["-tls1_2", "-sess_in", ticket]).contains("Reused, TLSv1.2"))

            try installation.write("no key", to: "tls.key")
            broker.process.signal(SIGHUP)
            let error = try await broker.process.errorLine(containing: "the present one stays in use")
            #expect(error?.contains("holds no private key") == true)
            let form = try Login(installation, sid: "s1").exchange(by: "app2")
            #expect(try await curl(installation, port, ["--http2"], form).hasSuffix("2 200"))

            _ = try installation.write(try TestCertificate.current())
            broker.process.signal(SIGHUP)
            #expect(try await broker.process.errorLine(containing: "certificate was read again") != nil)
            // H-32: a session of the old certificate is not resumed.
            #expect(try await openssl(port, ["-tls1_2", "-sess_in", ticket]).contains("New, TLSv1.2"))
            // curl trusts only the present contents of the file.
            let again = try Login(installation, sid: "s2").exchange(by: "app2")
            #expect(try await curl(installation, port, ["--http2"], again).hasSuffix("2 200"))
        }
    }

    // MARK: Programs

    private func withBroker(_ body: @Sendable (Installation, Broker, UInt16) async throws -> Void) async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let (certificate, key) = try installation.write(try TestCertificate.current())
            let environment = [
                "NATIVE_SSO_PUBLIC_TLS_CERTIFICATE": certificate, "NATIVE_SSO_PUBLIC_TLS_KEY": key,
            ]
            let broker = try await installation.startBroker(environment: environment).ready()
            try await body(installation, broker, broker.publicPort)
        }
    }

    /// The body, and on a last line the version of HTTP and the status.
    private func curl(
        _ installation: Installation, _ port: UInt16, _ options: [String], _ form: TokenForm,
        path: String = "/token"
    ) async throws -> String {
        let fields = form.parameters.flatMap { ["--data-urlencode", "\($0.name)=\($0.value)"] }
        return try await run(
            ["/usr/bin/env", "curl", "-s", "-m", "20", "--cacert", installation.file("tls.pem")] + options + fields
                + ["-w", "\n%{http_version} %{http_code}", "https://127.0.0.1:\(port)\(path)"]
        ).output
    }

    private func openssl(_ port: UInt16, _ options: [String]) async throws -> String {
        let run = try await run(["/usr/bin/env", "openssl", "s_client", "-connect", "127.0.0.1:\(port)"] + options)
        return run.output + run.errors
    }

    private func run(_ arguments: [String]) async throws -> ProgramRun {
        // The call blocks, so it needs a thread of its own.
        try await onOwnThread {
            try ProgramRun(
                arguments, environment: ["PATH": "/usr/bin:/bin"], inOwnSession: true, within: .seconds(30))
        }
    }
}
