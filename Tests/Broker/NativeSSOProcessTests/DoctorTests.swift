import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import JOSE
import NativeSSO
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso doctor finds each fault", .timeLimit(.minutes(10)))
struct DoctorTests {
    struct Outcome {
        let status: Int32
        let findings: [JSONObject]
        let errors: String

        init(_ outcome: ManagedProcess.Outcome) throws {
            status = outcome.status
            errors = outcome.errors
            let json = try JSONReader.parse(
                Array(outcome.output.utf8), limits: JSONLimits(members: 8192, elements: 8192)
            ).object
            findings = try #require(json?.array("findings"), "\(outcome.errors)").compactMap(\.object)
        }

        func state(_ check: String) -> String? {
            let states = findings.filter { $0.string("check") == check }.compactMap { $0.string("state") }
            return states.first { $0 != "ok" } ?? states.first
        }

        func seen(_ check: String) -> String {
            findings.filter { $0.string("check") == check }.compactMap { $0.string("seen") }.joined(separator: "\n")
        }

        /// Each finding that is not fine says what to do, and no other.
        func expectRemedies() {
            for finding in findings {
                #expect((finding.string("state") == "ok") == (finding["remedy"] == .null), "\(finding)")
            }
        }
    }

    /// The ports of other programs on this machine do not matter, unless a test says so.
    private static let ports = [
        "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:0", "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0",
    ]

    func doctor(
        _ installation: Installation, _ environment: [String: String] = [:], config: String? = nil,
        shell: [String] = []
    ) async throws -> Outcome {
        let environment = Self.ports.merging(installation.serviceEnvironment) { $1 }.merging(environment) { $1 }
        let file = config ?? installation.file("administration.yaml")
        let command = [try BuildProducts.path(of: "native-sso"), "--json", "--config", file, "doctor"]
        let all = shell + command
        return try Outcome(
            await ManagedProcess.run(
                all[0], Array(all.dropFirst()), environment: environment,
                log: installation.directory.appending(path: "\(Unguessable.make().prefix(12)).log")))
    }

    /// A configuration of the service with further lines.
    func write(
        _ installation: Installation, _ lines: String = "", providers: String? = nil, development: Bool = true
    ) throws -> String {
        let provider =
            providers
                ?? """
                  - issuer: \(Installation.identityProvider)
                    jwks_file: \(installation.file("key-set.json"))
                    profiles: [device-secret]
                    algorithms: [ES256]
                """
        let name = "doctor-\(Unguessable.make().prefix(8)).yaml"
        try installation.write(
            """
            issuer: \(Installation.issuer)
            development: \(development)
            database:
              url: "\(installation.cluster.connectionURI(database: installation.database))"
              password_file: \(installation.file("database-password"))
            keys: { directory: \(installation.file("keys")) }
            identity_providers:
            \(provider)
            \(lines)

            """, to: name)
        return installation.file(name)
    }

    // MARK: A sound installation

    @Test func `in a sound installation everything is fine, but for a test server without fsync`() async throws {
        try await Installation.withSchema { installation in
            let found = try await doctor(installation)
            found.expectRemedies()
            // The limits of the account that runs the tests are no part of the installation.
            let sound = found.findings.filter { $0.string("check")?.hasPrefix("process.") != true }
            #expect(
                sound.filter { $0.string("state") != "ok" }.compactMap { $0.string("check") } == ["database.durability"]
            )
            #expect(found.status == 3 && found.errors.contains("1 check failed"), "\(found.errors)")
            for check in [
                "configuration", "listener.public", "listener.internal", "proxies", "database.connection",
                "database.version", "database.standbys", "database.connections", "database.commits", "database.clock",
                "database.role", "schema.migrations", "schema.drift", "retention.sweep", "retention.audit",
                "identity_provider.names",
                "keys.store", "keys.usable", "keys.rotation", "identity_provider.reachable", "identity_provider.keys",
            ] { #expect(found.state(check) == "ok", "\(check): \(found.seen(check))") }

            // Beside a running broker the ports are taken, and rightly so.
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let beside = try await doctor(
                installation,
                [
                    "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(broker.publicPort)",
                    "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(broker.internalPort)",
                ])
            #expect(beside.seen("listener.public").hasSuffix("a broker serves here"))
            try await broker.stop()

            let text = try await installation.run(["doctor"], environment: installation.serviceEnvironment)
            #expect(text.output.contains("FAILED   database.durability"), "\(text.output)")
            #expect(text.output.contains("do: set fsync = on"))
        }
    }

    // MARK: Configuration and machine

    @Test func `a mistake in the file is found, and the database is examined all the same`() async throws {
        try await Installation.withSchema { installation in
            let found = try await doctor(installation, ["NATIVE_SSO_TOKENS_ACCESS": "5"])
            found.expectRemedies()
            #expect(found.state("configuration") == "failed" && found.status == 3)
            #expect(found.seen("configuration").contains("NATIVE_SSO_TOKENS_ACCESS: tokens.access"))
            #expect(found.state("database.connection") == "ok" && found.state("keys.usable") == "ok")
        }
    }

    @Test func `another program has the port, and an address is not that of this machine`() async throws {
        try await Installation.withSchema { installation in
            let other = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let taken = try await doctor(installation, ["NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(other.port)"])
            #expect(taken.state("listener.public") == "failed")
            #expect(taken.seen("listener.public").contains("Address already in use"))
            #expect(taken.state("listener.internal") == "ok")

            let file = try write(
                installation, "public: { plain_http: behind-proxy, trusted_proxies: [10.0.0.0/8] }", development: false)
            let strange = try await doctor(
                installation,
                ["NATIVE_SSO_PUBLIC_LISTEN": "192.0.2.1:8080"], config: file)
            strange.expectRemedies()
            #expect(strange.state("listener.public") == "failed", "\(strange.findings)")
            #expect(strange.seen("listener.public").contains("Cannot assign requested address"))
            #expect(strange.state("proxies") == "warning" && strange.seen("proxies").contains("65,536"))
            #expect(strange.state("process.user") == (geteuid() == 0 ? "warning" : "ok"))

            let unnamed = try write(installation, "public: { plain_http: behind-proxy }", development: false)
            let shared = try await doctor(
                installation, ["NATIVE_SSO_PUBLIC_LISTEN": "192.0.2.1:8080"], config: unnamed)
            #expect(shared.state("proxies") == "warning" && shared.seen("proxies").contains("share the limits"))

            let socket = try write(
                installation, "public: { listen: \"unix:/nonexistent/public\", trusted_proxies: [unix] }")
            let away = try await ManagedProcess.run(
                try BuildProducts.path(of: "native-sso"), ["--json", "--config", socket, "doctor"],
                environment: installation.serviceEnvironment.merging(
                    ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0"]) { $1 },
                log: installation.directory.appending(path: "socket.log"))
            #expect(try Outcome(away).seen("listener.public").contains("the directory /nonexistent: No such file"))
        }
    }

    @Test func `few files and no locked memory are found`() async throws {
        try await Installation.withSchema { installation in
            let files = try await doctor(
                installation, shell: ["/bin/sh", "-c", "ulimit -n 1000; exec \"$@\"", "sh"])
            #expect(files.state("process.files") == "warning" && files.seen("process.files").hasPrefix("1000 files"))
            // Root may lock memory, unless it has lost the right.
            let right = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set", "-ipc_lock"] : []
            let memory = try await doctor(
                installation, shell: right + ["/bin/sh", "-c", "ulimit -l 0; exec \"$@\"", "sh"])
            #expect(memory.state("process.memory") == "warning", "\(memory.seen("process.memory"))")
        }
    }

    @Test(arguments: [(-1, "failed", "expired at"), (10, "warning", "expires at"), (60, "ok", "expires at")])
    func `a certificate is found before it expires`(days: Int64, state: String, words: String) async throws {
        try await Installation.withSchema { installation in
            let now = Int64(Date().timeIntervalSince1970)
            let (certificate, key) = try installation.write(
                try TestCertificate(
                    notBefore: UnixTime(seconds: now - 100 * 86_400), notAfter: UnixTime(seconds: now + days * 86_400)))
            let found = try await doctor(
                installation,
                ["NATIVE_SSO_PUBLIC_TLS_CERTIFICATE": certificate, "NATIVE_SSO_PUBLIC_TLS_KEY": key])
            found.expectRemedies()
            #expect(found.state("certificate.public") == state && found.seen("certificate.public").contains(words))
        }
    }

    // MARK: Keys

    @Test func `keys that are open to others, missing, or due`() async throws {
        try await Installation.withSchema { installation in
            _ = try await installation.cluster.psql(
                """
                UPDATE native_sso.signing_key SET created_at = created_at - interval '90 days',
                    published_at = published_at - interval '90 days', activated_at = activated_at - interval '90 days'
                """, database: installation.database)
            let due = try await doctor(installation)
            due.expectRemedies()
            #expect(due.state("keys.rotation") == "warning", "\(due.seen("keys.rotation"))")
            #expect(due.seen("keys.rotation").contains("ES256 for access-token"))

            let keys = installation.file("keys")
            let file = try #require(
                FileManager.default.contentsOfDirectory(atPath: keys).first { $0.hasSuffix(".pem") })
            try FileManager.default.removeItem(atPath: "\(keys)/\(file)")
            let missing = try await doctor(installation)
            #expect(missing.state("keys.usable") == "failed" && missing.seen("keys.usable").contains("does not exist"))
            #expect(missing.seen("keys.usable").contains("no usable active key for use access-token"))

            try #require(chmod(keys, 0o755) == 0)
            let open = try await doctor(installation)
            #expect(open.state("keys.store") == "failed" && open.seen("keys.store").contains("chmod go="))
        }
    }

    // MARK: Identity providers

    @Test func `an identity provider that is away, and one whose answers do not fit`() async throws {
        try await Installation.withSchema { installation in
            let provider = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let file = try write(
                installation,
                providers: """
                      - issuer: \(provider.issuer)
                        profiles: [device-secret]
                        algorithms: [RS256]
                    """)
            func says(_ members: String) {
                provider.discovery(
                    .says(
                        Array(
                            #"{"issuer":"\#(provider.issuer)","jwks_uri":"\#(provider.issuer)/jwks",\#(members)}"#.utf8)
                    ))
            }
            says(#""id_token_signing_alg_values_supported":["ES256"],"claims_supported":["sub"]"#)
            let found = try await doctor(installation, config: file)
            found.expectRemedies()
            #expect(found.state("identity_provider.reachable") == "ok")
            #expect(found.state("identity_provider.algorithms") == "failed")
            #expect(found.state("identity_provider.keys") == "failed")
            #expect(found.seen("identity_provider.keys").contains("none of them for RS256"))
            #expect(found.state("identity_provider.claims") == "warning")
            #expect(found.seen("identity_provider.claims").hasSuffix("its id_tokens lack sid, ds_hash"))

            says(#""id_token_signing_alg_values_supported":["RS256","ES256"],"claims_supported":["sid","ds_hash"]"#)
            let more = try await doctor(installation, config: file)
            #expect(more.state("identity_provider.algorithms") == "warning")
            #expect(more.state("identity_provider.claims") == "ok")

            provider.discovery(.status(503))
            let away = try await doctor(installation, config: file)
            #expect(away.state("identity_provider.reachable") == "failed")
            #expect(away.seen("identity_provider.reachable").hasSuffix("answered with status 503"))
        }
    }

    @Test(arguments: [(-1, "failed", "expired at"), (13, "warning", "expires at"), (15, "ok", "expires at")])
    func `the certificate of an identity provider is found before it expires`(days: Int64, state: String, words: String)
        async throws
    {
        try await Installation.withSchema { installation in
            let now = Int64(Date().timeIntervalSince1970)
            let (certificate, key) = try installation.write(
                try TestCertificate(
                    notBefore: UnixTime(seconds: now - 100 * 86_400), notAfter: UnixTime(seconds: now + days * 86_400)))
            // Another broker plays the identity provider: it has a listener with TLS.
            let server = try await Broker.start(
                installation,
                environment: installation.serviceEnvironment.merging([
                    "NATIVE_SSO_PUBLIC_TLS_CERTIFICATE": certificate, "NATIVE_SSO_PUBLIC_TLS_KEY": key,
                ]) { $1 })
            let file = try write(
                installation,
                providers: """
                      - issuer: https://idp.example.com
                        jwks_uri: https://127.0.0.1:\(server.publicPort)/jwks
                        profiles: [device-secret]
                        algorithms: [ES256]
                    """)
            let found = try await doctor(installation, config: file)
            found.expectRemedies()
            #expect(found.state("identity_provider.certificate") == state, "\(found.findings)")
            #expect(found.seen("identity_provider.certificate").contains(words))
            try await server.stop()
        }
    }
}
