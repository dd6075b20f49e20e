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

    @Test func soundConfigurationIsOK() async throws {
        let run = try await BuiltCommand(["config", "check", "--config", goldenFile("sound.yaml")])
        #expect(run.status == 0)
        #expect(run.output == (try golden("sound.txt")).replacing("FILE", with: goldenFile("sound.yaml")))
        #expect(run.error == "")
    }

    @Test func soundConfigurationIsOKAsJSON() async throws {
        let run = try await BuiltCommand(["--json", "config", "check", "--config", goldenFile("sound.yaml")])
        #expect(run.status == 0)
        #expect(run.output == (try golden("sound.json")).replacing("FILE", with: goldenFile("sound.yaml")))
        #expect(run.error == "")
    }

    @Test func brokenConfigurationIsExplained() async throws {
        let run = try await BuiltCommand(
            ["--config", goldenFile("broken.yaml"), "config", "check"],
            environment: ["NATIVE_SSO_TOKENS_ACESS": "5m"])
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.error == (try golden("broken.txt")).replacing("FILE", with: goldenFile("broken.yaml")))
        #expect(!run.error.contains("hunter2"))
    }

    @Test func brokenConfigurationIsExplainedAsJSON() async throws {
        let run = try await BuiltCommand(
            ["config", "check", "--json", "--config", goldenFile("broken.yaml")],
            environment: ["NATIVE_SSO_TOKENS_ACESS": "5m"])
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.error == (try golden("broken.json")).replacing("FILE", with: goldenFile("broken.yaml")))
    }

    @Test func missingFileIsTheOperatorsMistake() async throws {
        let run = try await BuiltCommand(["config", "check", "--config", "/nonexistent.yaml"])
        #expect(run.status == 2)
        #expect(
            run.error == "/nonexistent.yaml: cannot open the file: No such file or directory; write the configuration "
                + "there, readable by the user of this process, or name another file with --config\n")
    }

    @Test func aMissingKeyDirectoryIsRefused() async throws {
        let sound = try String(contentsOfFile: goldenFile("sound.yaml"), encoding: .utf8)
        let file = try TemporaryFile(sound.replacing("/var/lib", with: "/nonexistent"), mode: 0o644)
        let run = try await BuiltCommand(["config", "check", "--config", file.path])
        #expect(run.status == 2)
        #expect(run.error == "\(file.path): keys.directory: there is no such directory\n")
    }

    // MARK: Usage

    @Test(arguments: [
        (["frobnicate", "--xylophone"], "Unknown option '--xylophone'", ""),
        (["frobnicate"], "Unexpected argument 'frobnicate'", ""),
        (["clint", "list"], "2 unexpected arguments: 'clint', 'list'; did you mean client?", ""),
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
        (["help", "frobnicate"], "there is no command 'frobnicate'", ""),
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

    @Test func aCommandMustBeNamed() async throws {
        let run = try await BuiltCommand([])
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.error.hasPrefix("native-sso: Name a subcommand: "))
    }

    @Test(arguments: ["--sid", "--sub"]) func aValueMayBeginWithAHyphen(option: String) async throws {
        let run = try await BuiltCommand(["session", "list", option, "-zRq", "--config", "/nonexistent.yaml"])
        #expect(run.error.hasPrefix("/nonexistent.yaml: cannot open the file: No such file or directory; "))
    }

    @Test(arguments: [["--help"], ["help", "config"], ["--version"]])
    func whatIsAskedForIsAResult(arguments: [String]) async throws {
        let run = try await BuiltCommand(arguments)
        #expect(run.status == 0)
        #expect(!run.output.isEmpty)
        #expect(run.error == "")
    }

    @Test(arguments: [["client", "add", "--help"], ["help", "client", "add"], ["--json", "client", "add", "-h"]])
    func helpEndsWithAnExample(arguments: [String]) async throws {
        let run = try await BuiltCommand(arguments)
        #expect(run.status == 0)
        #expect(run.output.contains("\nEXAMPLE:\n  native-sso client add app1 --audience https://api.example.com"))
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
