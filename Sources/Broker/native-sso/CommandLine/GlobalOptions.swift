import ArgumentParser
import Foundation

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config = "/etc/native-sso/native-sso.yaml"

    @Flag(help: "Print results and errors as JSON.")
    var json = false

    var output: CommandOutput { CommandOutput(format: json ? .json : .text) }

    /// Reads the configuration and prints its warnings on standard error.
    func configuration() throws(ConfigurationError) -> Configuration {
        let result = try readConfiguration()
        output.warn(result.warnings.map { $0.line(file: config, isWarning: true) })
        return result.configuration
    }

    func readConfiguration() throws(ConfigurationError) -> ConfigurationReader.Result {
        try ConfigurationReader.read(file: config, environment: ProcessInfo.processInfo.environment)
    }
}
