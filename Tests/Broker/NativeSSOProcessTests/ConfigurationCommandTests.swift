import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("What commands need of the configuration, and config show, init and schema", .timeLimit(.minutes(10)))
struct ConfigurationCommandTests {
    /// Without the arguments and variables that the tests of other commands give.
    private func run(
        _ arguments: [String], environment: [String: String] = [:], _ installation: Installation
    ) async throws -> ManagedProcess.Outcome {
        try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"), arguments, environment: environment,
            log: installation.directory.appending(path: "\(Unguessable.make().prefix(12)).log"))
    }

    // MARK: Least configuration

    /// One command of each group. None of them serves.
    private static let commands = [
        ["client", "list"], ["client", "show", "app1"], ["client", "update", "app1", "--dpop", "off"],
        ["group", "list"], ["group", "show", "vendor"],
        ["group", "add", "other", "--issuer", "https://idp.example.com"],
        ["scope", "list"], ["session", "list"], ["grant", "list", "--client", "app1"],
        ["device", "show", String(repeating: "ab", count: 32), "--issuer", "https://idp.example.com"],
        ["account", "list"], ["idp-key", "list", "--issuer", "https://idp.example.com"], ["subject-prefix", "list"],
        ["retention", "show"], ["sweep"], ["audit", "list"], ["database", "accept", "--sessions", "end"],
        ["migrate", "status"],
        ["migrate", "verify"], ["registry", "export"], ["idp", "list"],
    ]

    @Test func `a command needs the database and nothing else`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let url = installation.cluster.connectionURI(database: installation.database)
            let password = installation.file("database-password")
            try installation.write("database: { url: \"\(url)\", password_file: \(password) }\n", to: "least.yaml")
            // Only serve needs the files below /nonexistent, which do not exist.
            try installation.write(
                """
                issuer: https://sso.example.com
                database: { url: "\(url)", password_file: \(password) }
                public: { listen: "0.0.0.0:8443", tls: { certificate: /nonexistent/tls.pem, key: /nonexistent/tls.key } }
                keys: { directory: /nonexistent, passphrase_file: /nonexistent/passphrase }
                identity_providers:
                  - issuer: https://idp.example.com
                    profiles: [device-secret]
                    algorithms: [ES256]
                    ca_file: /nonexistent/ca.pem
                    code_relay: { client_secret_file: /nonexistent/secret }

                """, to: "unreadable.yaml")
            for command in Self.commands {
                for file in ["least.yaml", "unreadable.yaml"] {
                    let outcome = try await run(["--config", installation.file(file)] + command, installation)
                    // The device does not exist, and the second file adds the group again: that is an answer.
                    let isAnswer = outcome.status == 1 && !outcome.errors.contains("/nonexistent")
                    #expect(outcome.status == 0 || isAnswer, "\(file): \(command): \(outcome.errors)")
                }
            }
            // What the registry knows is listed without the configuration of the providers.
            let listed = try await run(
                ["--config", installation.file("least.yaml"), "--json", "idp", "list"], installation)
            #expect(
                listed.output.contains(#""issuer":"\#(Installation.identityProvider)","configured":null"#),
                "\(listed.output)\(listed.errors)")
            let explained = try await run(
                ["--config", installation.file("unreadable.yaml"), "explain", "--from", "app1", "--to", "app2"],
                installation)
            #expect(explained.output.contains("yes, app2 may use logins of app1"), "\(explained.errors)")
            let metadata = try await run(
                [
                    "--config", installation.file("unreadable.yaml"), "metadata", "export",
                ], environment: ["NATIVE_SSO_ADVERTISE_LOGIN": "none"], installation)
            #expect(metadata.output.contains(#""issuer":"https://sso.example.com""#), "\(metadata.errors)")
            // serve and config check open them all.
            for command in [["config", "check"], ["serve"]] {
                let outcome = try await run(["--config", installation.file("unreadable.yaml")] + command, installation)
                #expect(outcome.status == 2)
                for key in [
                    "public.tls.certificate", "public.tls.key", "keys.passphrase_file", "identity_providers[0].ca_file",
                    "identity_providers[0].code_relay.client_secret_file",
                ] {
                    #expect(outcome.errors.contains("\(key): cannot open the file"), "\(outcome.errors)")
                }
            }
        }
    }

    @Test func `without a file at its default place the variables are enough`() async throws {
        try #require(!FileManager.default.fileExists(atPath: "/etc/native-sso/native-sso.yaml"))
        try await Installation.withSchema { installation in
            let environment = [
                "NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(database: installation.database),
                "NATIVE_SSO_DATABASE_PASSWORD_FILE": installation.file("database-password"),
            ]
            let listed = try await run(["client", "list"], environment: environment, installation)
            #expect(listed.status == 0 && listed.output == "no clients\n", "\(listed.errors)")
            // Of a named file nothing is guessed, and serve needs one.
            for arguments in [["client", "list", "--config", "/nonexistent.yaml"], ["serve"], ["config", "check"]] {
                let outcome = try await run(arguments, environment: environment, installation)
                #expect(outcome.status == 2 && outcome.errors.contains("cannot open the file"), "\(outcome.errors)")
            }
            let nothing = try await run(["client", "list"], installation)
            #expect(nothing.status == 2 && nothing.errors.contains("cannot open the file"))
        }
    }

    @Test func `a misspelt key is found by every command`() async throws {
        try await Installation.withFiles { installation in
            try installation.write("databse: { url: x }\ntokens: { access: 5m }\n", to: "misspelt.yaml")
            let outcome = try await run(
                ["--config", installation.file("misspelt.yaml"), "client", "list"],
                environment: ["NATIVE_SSO_DATABSE_URL": "x", "NATIVE_SSO_TOKENS_ACCESS": "5m"], installation)
            #expect(outcome.status == 2)
            let file = installation.file("misspelt.yaml")
            #expect(
                outcome.errors == """
                    \(file): database.url: is missing; write it, such as postgresql://broker@%2Frun%2Fpostgresql/native_sso
                    \(file):1: databse: is not a key of the configuration; did you mean database?
                    NATIVE_SSO_DATABSE_URL: is not a variable of the configuration; did you mean NATIVE_SSO_DATABASE_URL?

                    """)
        }
    }

    // MARK: config show and schema

    @Test func `config show names the source of every value, and opens no secret`() async throws {
        try await Installation.withFiles { installation in
            try installation.write(
                """
                issuer: https://sso.example.com
                database: { url: "postgresql://broker@db1/x?sslmode=verify-full", password_file: /nonexistent/password }
                keys: { directory: /nonexistent }
                sessions: { absolute: 10d }
                identity_providers:
                  - issuer: https://idp.example.com
                    profiles: [device-secret]
                    algorithms: [ES256, RS256]
                    code_relay: { client_secret_file: "credential:secret" }

                """, to: "shown.yaml")
            let arguments = ["--config", installation.file("shown.yaml"), "config", "show"]
            let environment = ["NATIVE_SSO_TOKENS_ACCESS": "7m"]
            let shown = try await run(arguments, environment: environment, installation)
            #expect(shown.status == 0, "\(shown.errors)")
            let lines = shown.output.split(separator: "\n").map { line in
                line.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            for expected in [
                ["issuer", "https://sso.example.com", "line 1"], ["tokens.access", "7m", "NATIVE_SSO_TOKENS_ACCESS"],
                ["database.password_file", "/nonexistent/password", "line 2"], ["database.pool", "8", "default"],
                // What follows from other keys.
                ["sessions.absolute", "10d", "line 4"], ["sessions.idle", "10d", "default"],
                ["dpop.token_endpoint", "https://sso.example.com/token", "default"],
                ["identity_providers[0].algorithms", "ES256 RS256", "line 8"],
                ["identity_providers[0].code_relay.client_secret_file", "credential:secret", "line 9"],
                ["identity_providers[0].code_relay.timeout", "5s", "default"],
            ] {
                #expect(lines.contains(expected), "\(expected): \(shown.output)")
            }
            // There is no such listener, and no such token.
            #expect(!shown.output.contains("backchannel.") && !shown.output.contains("pkcs11."))
            #expect(shown.errors.contains("warning: public.trusted_proxies"))

            let json = try await run(["--json"] + arguments, environment: environment, installation)
            let settings = try JSONReader.parse(
                Array(json.output.utf8), limits: JSONLimits(members: 8192, elements: 8192)
            ).object?.array("settings")?.compactMap(\.object)
            let algorithms = try #require(settings?.first { $0.string("key") == "identity_providers[0].algorithms" })
            #expect(algorithms["value"]?.strings == ["ES256", "RS256"] && algorithms.string("source") == "line 8")

            let broken = try await run(
                arguments, environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://broker:hunter2@db1/x"], installation)
            #expect(broken.status == 2 && broken.errors.contains("must not contain a password"))
            #expect(broken.output.isEmpty && !broken.errors.contains("hunter2"))
        }
    }

    // MARK: config init

    private func found(_ provider: StubIdentityProvider, _ members: String) -> [UInt8] {
        Array(#"{"issuer":"\#(provider.issuer)","jwks_uri":"\#(provider.issuer)/jwks"\#(members)}"#.utf8)
    }

    @Test func `config init asks the identity provider, says what it found, and overwrites nothing`() async throws {
        try await Installation.withSchema { installation in
            let provider = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let file = installation.file("made.yaml")
            let arguments = [
                "--config", file, "config", "init", "--development", "--issuer", "https://sso.example.com", "--idp",
                provider.issuer, "--database", installation.cluster.connectionURI(database: installation.database),
                "--keys", installation.file("keys"),
            ]
            provider.discovery(
                .says(
                    found(
                        provider,
                        #","id_token_signing_alg_values_supported":["ES256","HS256"],"native_sso_supported":true,"#
                            + #""claims_supported":["sid"],"end_session_endpoint":"https://idp.example.com/end","#
                            + #""backchannel_logout_supported":true"#)))
            let made = try await run(["--json"] + arguments, installation)
            let answer = try #require(try JSONReader.parse(Array(made.output.utf8)).object, "\(made.errors)")
            #expect(answer["algorithms"]?.strings == ["ES256"] && answer["other_algorithms"]?.strings == ["HS256"])
            #expect(answer.number("keys")?.int64 == 1 && answer.bool("native_sso") == true)
            #expect(answer.bool("sid") == true && answer.bool("backchannel_logout") == true)
            #expect(answer.string("end_session_endpoint") == "https://idp.example.com/end")
            #expect(made.errors.split(separator: "\n").count == 1, "only what comes next: \(made.errors)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.contains("admit_on_first_sight: true") && text.contains("algorithms: [ES256]"))
            // A broker accepts it, but for the password, which is a file.
            let environment = ["NATIVE_SSO_DATABASE_PASSWORD_FILE": installation.file("database-password")]
            let checked = try await run(["--config", file, "config", "check"], environment: environment, installation)
            #expect(checked.status == 0 && checked.output == "OK\n", "\(checked.errors)\(checked.output)")

            let again = try await run(arguments, installation)
            #expect(again.status == 1 && again.errors.contains("\(file) exists already"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
    }

    @Test func `config init for a provider without Native SSO, and for answers that it refuses`() async throws {
        try await Installation.withFiles { installation in
            let provider = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let file = installation.file("made.yaml")
            func run(_ further: String..., idp: String? = nil) async throws -> ManagedProcess.Outcome {
                try await self.run(
                    [
                        "--config", file, "config", "init", "--issuer", "https://sso.example.com", "--idp",
                        idp ?? provider.issuer,
                    ] + further, installation)
            }
            let plain = try await run("--development")
            #expect(plain.status == 0, "\(plain.errors)")
            #expect(plain.errors.contains("enrolment: exchange") && plain.errors.contains("no back-channel logout"))
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.contains("enrolment: exchange") && text.contains("algorithms: [ES256, RS256]"))
            try FileManager.default.removeItem(atPath: file)

            provider.discovery(.says(found(provider, #","id_token_signing_alg_values_supported":["HS256"]"#)))
            let symmetric = try await run("--development")
            #expect(symmetric.status == 1 && symmetric.errors.contains("signs id_tokens with HS256 only"))
            let other = try await run("--development", idp: provider.issuer + "/")
            #expect(other.status == 1 && other.errors.contains("document of another issuer"), "\(other.errors)")
            provider.discovery(.status(503))
            let away = try await run("--development")
            #expect(away.status == 3 && away.errors.contains("answered with status 503"))
            let plainHTTP = try await run()
            #expect(plainHTTP.status == 2 && plainHTTP.errors.contains("must begin with https://"))
            provider.discovery(.answers)
            let password = try await run("--development", "--database", "postgresql://u:hunter2@localhost/x")
            #expect(password.status == 2 && password.errors.contains("--database: must not contain a password"))
            #expect(!password.errors.contains("hunter2"))
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }
}
