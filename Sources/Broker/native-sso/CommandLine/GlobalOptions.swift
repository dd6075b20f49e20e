import ArgumentParser
import FoundationEssentials
import Synchronization

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config = "/etc/native-sso/native-sso.yaml"

    @Flag(help: "Print results and errors as JSON.")
    var json = false

    var output: CommandOutput { CommandOutput(format: json ? .json : .text) }

    /// A command may read the configuration more than once.
    private static let hasWarned = Atomic(false)

    /// Reads the configuration and prints its warnings on standard error, once in a process.
    func configuration() throws(ConfigurationError) -> Configuration {
        let result = try readConfiguration()
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return result.configuration }
        output.warn(result.warnings.map { $0.line(file: config, isWarning: true) })
        return result.configuration
    }

    func readConfiguration() throws(ConfigurationError) -> ConfigurationReader.Result {
        try ConfigurationReader.read(file: config, environment: ProcessInfo.processInfo.environment)
    }
}
