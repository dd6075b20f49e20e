import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("What commands need of the configuration, and config init", .timeLimit(.minutes(10)))
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
        "client list", "client show app1", "client update app1 --dpop off", "group list", "group show vendor",
        "group add other --issuer https://idp.example.com", "scope list", "session list", "grant list --client app1",
        "device show \(String(repeating: "ab", count: 32)) --issuer https://idp.example.com", "account list",
        "idp-key list --issuer https://idp.example.com", "subject-prefix list", "retention show", "sweep", "audit list",
        "database accept --sessions end", "migrate status", "migrate verify", "registry export", "idp list",
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
                    let arguments =
                        ["--config", installation.file(file)] + command.split(separator: " ").map(String.init)
                    let outcome = try await run(arguments, installation)
                    // The device does not exist, and the second file adds the group again: that is an answer.
                    let isAnswer = outcome.status == 1 && !outcome.errors.contains("/nonexistent")
                    #expect(outcome.status == 0 || isAnswer, "\(file): \(command): \(outcome.errors)")
                }
            }
            for (file, arguments, words) in [
                // What the registry knows is listed without the configuration of the providers.
                (
                    "least.yaml", ["--json", "idp", "list"],
                    #""issuer":"\#(Installation.identityProvider)","configured":null"#
                ),
                (
                    "unreadable.yaml", ["explain", "--from", "app1", "--to", "app2"],
                    "yes, app2 may use logins of app1"
                ),
                ("unreadable.yaml", ["metadata", "export"], #""issuer":"https://sso.example.com""#),
            ] {
                let outcome = try await run(
                    ["--config", installation.file(file)] + arguments,
                    environment: ["NATIVE_SSO_ADVERTISE_LOGIN": "none"], installation)
                #expect(outcome.output.contains(words), "\(outcome.output)\(outcome.errors)")
            }
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

    // MARK: config init

    @Test func `config init says what it found, and refuses what no broker could use`() async throws {
        try await Installation.withFiles { installation in
            let provider = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let file = installation.file("made.yaml")
            func initialize(_ more: [String], idp: String? = nil) async throws -> ManagedProcess.Outcome {
                let issuers = ["--issuer", "https://sso.example.com", "--idp", idp ?? provider.issuer]
                return try await run(["--config", file, "config", "init"] + issuers + more, installation)
            }
            func algorithms(_ names: String...) -> StubIdentityProvider.Behaviour {
                let list = names.map { "\"\($0)\"" }.joined(separator: ",")
                let document =
                    #"{"issuer":"\#(provider.issuer)","jwks_uri":"\#(provider.issuer)/jwks","#
                    + #""id_token_signing_alg_values_supported":[\#(list)]}"#
                return .says(Array(document.utf8))
            }
            for (answer, idp, more, status, words) in [
                (algorithms("HS256"), nil, [], 1, "signs id_tokens with HS256 only"),
                (algorithms("ES256"), provider.issuer + "/", [], 1, "document of another issuer"),
                (.status(503), nil, [], 3, "answered with status 503"),
                (
                    .answers, nil, ["--database", "postgresql://u:hunter2@localhost/x"], 2,
                    "--database: must not contain a password"
                ),
            ] as [(StubIdentityProvider.Behaviour, String?, [String], Int32, String)] {
                provider.discovery(answer)
                let refused = try await initialize(["--development"] + more, idp: idp)
                #expect(refused.status == status && refused.errors.contains(words), "\(refused.errors)")
                #expect(!refused.errors.contains("hunter2") && !FileManager.default.fileExists(atPath: file))
            }
            provider.discovery(algorithms("ES256", "HS256"))
            let mixed = try await initialize(["--json", "--development"])
            let found = try #require(try JSONReader.parse(Array(mixed.output.utf8)).object, "\(mixed.errors)")
            #expect(found.strings("algorithms") == ["ES256"] && found.strings("other_algorithms") == ["HS256"])
            try FileManager.default.removeItem(atPath: file)

            // Without Native SSO.
            provider.discovery(.answers)
            let database = installation.cluster.connectionURI(database: installation.database)
            let plain = try await initialize(
                ["--development", "--database", database, "--keys", installation.file("keys")])
            #expect(plain.status == 0, "\(plain.errors)")
            #expect(plain.errors.contains("enrolment: exchange") && plain.errors.contains("no back-channel logout"))
            #expect(plain.errors.contains("client add --self-exchange"))
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.contains("enrolment: exchange") && text.contains("algorithms: [ES256, RS256]"))
            let environment = ["NATIVE_SSO_DATABASE_PASSWORD_FILE": installation.file("database-password")]
            let checked = try await run(["--config", file, "config", "check"], environment: environment, installation)
            #expect(checked.status == 0 && checked.output.hasPrefix("OK\n"), "\(checked.errors)\(checked.output)")
        }
    }
}
