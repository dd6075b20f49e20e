import ChildProcesses
import Foundation
import Testing

/// Exit status, standard output and standard error.
@Suite struct BuiltCommandTests {
    private func golden(_ name: String) throws -> String {
        let file = Bundle.module.bundleURL.appending(path: "Golden/\(name)")
        return try String(contentsOf: file, encoding: .utf8)
    }

    private func goldenFile(_ name: String) -> String {
        Bundle.module.bundleURL.appending(path: "Golden/\(name)").path
    }

    // MARK: config check

    @Test(arguments: [([], "txt"), (["--json"], "json")] as [([String], String)])
    func brokenConfigurationIsExplained(options: [String], kind: String) async throws {
        let (sound, broken) = (goldenFile("sound.yaml"), goldenFile("broken.yaml"))
        let fine = try await BuiltCommand(["config", "check", "--config", sound] + options)
        #expect(fine.status == 0 && fine.error == "")
        #expect(fine.output == (try golden("sound.\(kind)")).replacing("FILE", with: sound))
        let refused = try await BuiltCommand(
            options + ["--config", broken, "config", "check"], environment: ["NATIVE_SSO_TOKENS_ACESS": "5m"])
        #expect(refused.status == 2 && refused.output == "")
        #expect(refused.error == (try golden("broken.\(kind)")).replacing("FILE", with: broken))
        #expect(!refused.error.contains("hunter2"))
    }

    @Test func aMissingKeyDirectoryIsRefused() async throws {
        let sound = try String(contentsOfFile: goldenFile("sound.yaml"), encoding: .utf8)
        let file = try TemporaryFile(sound.replacing("/var/lib", with: "/nonexistent"), mode: 0o644)
        let run = try await BuiltCommand(["config", "check", "--config", file.path])
        #expect(run.status == 2)
        #expect(run.error == "\(file.path): keys.directory: there is no such directory\n")
    }

    /// Of a named file nothing is guessed, and serve needs one.
    @Test(arguments: [["client", "list", "--config", "/nonexistent.yaml"], ["serve"], ["config", "check"]])
    func aFileIsNeeded(arguments: [String]) async throws {
        try #require(!FileManager.default.fileExists(atPath: "/etc/native-sso/native-sso.yaml"))
        let run = try await BuiltCommand(
            arguments, environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"])
        #expect(run.status == 2 && run.error.contains("cannot open the file"), "\(run.error)")
    }

    @Test func everyCommandFindsAMisspeltKey() async throws {
        let file = try TemporaryFile("databse: { url: x }\ntokens: { access: 5m }\n")
        let run = try await BuiltCommand(
            ["--config", file.path, "client", "list"],
            environment: ["NATIVE_SSO_DATABSE_URL": "x", "NATIVE_SSO_TOKENS_ACCESS": "5m"])
        #expect(run.status == 2)
        #expect(
            run.error == """
                \(file.path): database.url: is missing; write it, such as postgresql://broker@%2Frun%2Fpostgresql/native_sso
                \(file.path):1: databse: is not a key of the configuration; did you mean database?
                NATIVE_SSO_DATABSE_URL: is not a variable of the configuration; did you mean NATIVE_SSO_DATABASE_URL?

                """)
    }

    @Test func configShowNamesTheSourceOfEveryValueAndOpensNoSecret() async throws {
        let file = try TemporaryFile(
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

            """)
        let show = ["config", "show", "--config", file.path]
        let shown = try await BuiltCommand(show, environment: ["NATIVE_SSO_TOKENS_ACCESS": "7m"])
        #expect(shown.status == 0 && shown.error.contains("warning: public.trusted_proxies"), "\(shown.error)")
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
        let json = try await BuiltCommand(["--json"] + show).output
        #expect(
            json.contains(#"{"key":"identity_providers[0].algorithms","value":["ES256","RS256"],"source":"line 8"}"#))

        let broken = try await BuiltCommand(
            show, environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://broker:hunter2@db1/x"])
        #expect(broken.status == 2 && broken.error.contains("must not contain a password"))
        #expect(broken.output.isEmpty && !broken.error.contains("hunter2"))
    }

    // MARK: Usage

    @Test(arguments: [
        (["frobnicate", "--xylophone"], "Unknown option '--xylophone'", ""),
        (["frobnicate"], "Unexpected argument 'frobnicate'", ""),
        (["client", "lst"], "Unexpected argument 'lst'; did you mean list?", " client"),
        (
            ["--config", "x", "client", "secret", "rotat"], "Unexpected argument 'rotat'; did you mean rotate?",
            " client secret"
        ),
        (["client", "show"], "Missing expected argument '<id>'", " client show"),
        (["config", "check", "extra"], "Unexpected argument 'extra'", " config check"),
        (["config", "check", "--password", "hunter2"], "Unknown option '--password'", " config check"),
        (["config", "check", "--config"], "Missing value for '--config <file>'", " config check"),
        (["--\u{1B}[2J"], "Unknown option '--\\u{1b}[2J'", ""),
        (["config"], "Name a subcommand: init, check, show, schema.", " config"),
        (["help", "client", "ad"], "there is no command 'ad'; did you mean add?", " client"),
        (["help", "client", "add", "x"], "there is no command 'x'", " client add"),
    ])
    func misuseIsOneLineAndAHint(arguments: [String], expected: String, command: String) async throws {
        let run = try await BuiltCommand(arguments)
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.error == "native-sso: \(expected)\nSee 'native-sso\(command) --help'.\n")
    }

    @Test func misuseIsOneObjectAsJSON() async throws {
        let run = try await BuiltCommand(["config", "check", "--json", "extra"])
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.error == #"{"error":"usage","message":"Unexpected argument 'extra'"}"# + "\n")
    }

    @Test(arguments: ["--sid", "--sub"]) func aValueMayBeginWithAHyphen(option: String) async throws {
        let run = try await BuiltCommand(["session", "list", option, "-zRq", "--config", "/nonexistent.yaml"])
        #expect(run.error.hasPrefix("/nonexistent.yaml: cannot open the file: No such file or directory; "))
    }

    @Test func theVersionIsAResult() async throws {
        let run = try await BuiltCommand(["--version"])
        #expect(run.status == 0 && !run.output.isEmpty && run.error == "")
    }

    // MARK: Standard output

    @Test(arguments: [["config", "check", "--config"], ["--help", "--config"]])
    func readerThatLeftIsNoFailure(arguments: [String]) async throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let run = try await BuiltCommand(
            arguments + [goldenFile("sound.yaml")], output: pipe.fileHandleForWriting)
        #expect(run.status == 0)
        #expect(run.error == "")
    }

    @Test func fullDiskIsAFailure() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let run = try await BuiltCommand(["config", "check", "--config", goldenFile("sound.yaml")], output: full)
        #expect(run.status == 3)
        #expect(run.error == "native-sso: cannot write to standard output: No space left on device\n")
    }
}

/// The built program, run as a separate process.
struct BuiltCommand {
    /// `nil`: the test killed it after a minute.
    let status: Int32?
    let output: String
    let error: String

    private static var executable: String {
        Bundle.module.bundleURL.deletingLastPathComponent().appending(path: "native-sso").path
    }

    /// - Parameter output: Receives standard output; the result then has none.
    init(
        _ arguments: [String], environment: [String: String] = [:], output: FileHandle? = nil
    ) async throws {
        let run = try ProgramRun(
            [Self.executable] + arguments, environment: environment, inOwnSession: true, output: output,
            within: .seconds(60))
        (status, self.output, error) = (run.status, run.output, run.errors)
    }
}
