import ArgumentParser
import FoundationEssentials

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config = standardFile

    @Flag(help: "Print results and errors as JSON.")
    var json = false

    @Flag(help: "Show times in UTC, not in the time zone of this machine or of TZ. JSON always has UTC.")
    var utc = false

    var output: CommandOutput { CommandOutput(format: json ? .json : .text, isUTC: utc) }

    static let standardFile = "/etc/native-sso/native-sso.yaml"

    /// Reads what `part` takes of the configuration, so that a command needs no more than it uses. Prints each warning
    /// on standard error.
    /// - Parameter openingFiles: Whether the files that the part names are opened, such as that of a password.
    func read<Part>(
        openingFiles: Bool = true, _ part: (Section) -> Part?
    ) throws(ConfigurationError) -> Part {
        let (value, warnings) = try ConfigurationReader.read(
            file: config, environment: ProcessInfo.processInfo.environment, openingFiles: openingFiles, part)
        output.warn(warnings.map { $0.line(file: config, isWarning: true) })
        return value
    }

    /// Reads all of it, as `serve` does.
    func readConfiguration() throws(ConfigurationError) -> ConfigurationReader.Result {
        try ConfigurationReader.read(file: config, environment: ProcessInfo.processInfo.environment)
    }
}
