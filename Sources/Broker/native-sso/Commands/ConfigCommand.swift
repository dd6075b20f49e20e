import ArgumentParser
import FoundationEssentials
import Glibc
import NativeSSO
import Registry
import StrictCoding

struct ConfigCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Write, show and check the configuration.",
        subcommands: [ConfigInitCommand.self, Check.self, Show.self, SchemaOfFile.self])
}

extension ConfigCommand {
    /// Reads the configuration and its secret files as `serve` does, checks that the key directory exists, and compares
    /// the names of users with those in the database.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Report every problem of the configuration, and what to write instead.")

        @OptionGroup var options: GlobalOptions

        func run() async throws {
            let result = try options.readConfiguration()
            try checkDirectory(result.configuration.keys.directory)
            let warnings = result.warnings + (try await compareNames(result.configuration))
            try options.output.show(ConfigurationVerdict(file: options.config, warnings: warnings))
        }

        private func checkDirectory(_ directory: String?) throws(ConfigurationError) {
            guard let directory else { return }
            var status = stat()
            guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                let problem = ConfigurationProblem(
                    place: Place(origin: .file, key: "keys.directory"), message: "there is no such directory")
                throw ConfigurationError(file: options.config, problems: [problem])
            }
        }
    }
}

extension ConfigCommand.Check {
    /// - Returns: A warning if the database did not answer: the file may be checked where it cannot be reached.
    private func compareNames(_ configuration: Configuration) async throws -> [ConfigurationProblem] {
        // A setting that libpq refuses is an error all the same.
        _ = try configuration.database.connection(pool: 1)
        let prefixes = try? await configuration.database.administer(within: .seconds(2), patience: .seconds(2)) {
            try await $0.subjectPrefixes()
        }
        guard let prefixes else {
            return [
                ConfigurationProblem(
                    place: Place(origin: .file, key: "database.url"),
                    message:
                        "no subject_prefix was compared with the database, which is down or not migrated yet; serve compares"
                )
            ]
        }
        let used = Dictionary(prefixes.map { ($0.issuer, $0.prefix) }) { first, _ in first }
        let conflicts = configuration.conflicts(withPrefixesInUse: used)
        guard conflicts.isEmpty else { throw ConfigurationError(file: options.config, problems: conflicts) }
        return []
    }
}

/// The configuration is valid, perhaps with warnings.
struct ConfigurationVerdict: ObjectResult {
    let file: String
    let warnings: [ConfigurationProblem]

    var lines: [String] { ["OK"] + warnings.map { $0.line(file: file, isWarning: true) } }

    func members(to json: inout JSONWriter) {
        json.member("ok", true)
        json.member("file", file)
        json.member("warnings", array: { json in for warning in warnings { warning.write(to: &json) } })
    }
}

extension ConfigCommand {
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show every key with the value that takes effect, and where it is from.",
            discussion: """
                The source is a line of the file, a variable, or the default. Files that the configuration names are not \
                opened, so their secrets are not shown, and any user may run this command who may read the file.
                """)

        @OptionGroup var options: GlobalOptions

        func run() async throws {
            let (settings, warnings) = try ConfigurationReader.settings(
                file: options.config, environment: ProcessInfo.processInfo.environment)
            try options.output.show(EffectiveConfiguration(file: options.config, settings: settings))
            options.output.warn(warnings.map { $0.line(file: options.config, isWarning: true) })
        }
    }

    struct SchemaOfFile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema", abstract: "Print the JSON schema of the configuration file, for editors.",
            discussion: "It is the configuration.schema.json of the guide.")

        @OptionGroup var options: GlobalOptions

        func run() async throws {
            let schema = KeyDescription.schema(
                "native-sso configuration", of: KeyDescription.all, haveVariables: true)
            try StandardStream.output.write(Array(schema.utf8) + [UInt8(ascii: "\n")])
        }
    }
}

/// The keys with their values.
private struct EffectiveConfiguration: ObjectResult {
    let file: String
    let settings: [Setting]

    private var table: Table {
        Table("settings", settings) {
            ["key": .text($0.key), "value": $0.value, "source": .text($0.source)]
        }
    }

    var lines: [String] { table.lines }

    func members(to json: inout JSONWriter) {
        json.member("file", file)
        table.members(to: &json)
    }
}

extension Setting {
    fileprivate var source: String {
        switch origin {
        case nil: "default"
        case .file: "file"
        case .line(let line): "line \(line)"
        case .variable(let name): name
        }
    }
}
