import ArgumentParser
import Glibc
import StrictCoding

/// `native-sso config`
struct ConfigCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Examine the configuration.", subcommands: [Check.self])
}

extension ConfigCommand {
    /// Reads the configuration as `serve` does, secret files included, looks whether there is a directory for keys, and touches
    /// nothing else.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Explain everything that is wrong with the configuration.")

        @OptionGroup var options: GlobalOptions

        func run() async throws {
            let result = try options.readConfiguration()
            let directory = result.configuration.keys.directory
            var status = stat()
            guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                let problem = ConfigurationProblem(
                    place: Place(origin: .file, key: "keys.directory"), message: "there is no such directory")
                throw ConfigurationError(file: options.config, problems: [problem])
            }
            try options.output.show(ConfigurationVerdict(file: options.config, warnings: result.warnings))
        }
    }
}

/// The configuration holds, perhaps with doubts.
struct ConfigurationVerdict: CommandResult {
    let file: String
    let warnings: [ConfigurationProblem]

    var lines: [String] { ["OK"] + warnings.map { $0.line(file: file, isWarning: true) } }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("ok", true)
            json.member("file", file)
            json.member("warnings", array: { json in for warning in warnings { warning.write(to: &json) } })
        }
    }
}
