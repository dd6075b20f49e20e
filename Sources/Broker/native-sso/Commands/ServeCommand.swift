import ArgumentParser
import BrokerHTTP
import FoundationEssentials
import Glibc
import KeyModule
import Logging
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve apps until SIGTERM or SIGINT. SIGHUP reads keys, certificate and key sets again.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let result = try options.readConfiguration()
        let configuration = result.configuration
        let isRoot = geteuid() == 0
        guard !isRoot || configuration.isDevelopment else {
            throw CommandFailure.usage("the broker does not run as root: start it as a user of its own")
        }
        let environment = ProcessInfo.processInfo.environment
        try checkSocket(configuration, environment)
        let logger = Self.logger(configuration.log)
        defer { LogSink.standardError.flush() }
        for warning in result.warnings {
            logger.warning("doubtful configuration", metadata: warning.metadata(file: options.config))
        }
        if isRoot { logger.warning("running as root, which development: true allows") }
        if !ProcessHardening.locksSecrets {
            logger.warning(
                "the memory of the keys could not be locked, and may be swapped to disk",
                metadata: ["remedy": "raise the limit of locked memory (ulimit -l, LimitMEMLOCK=) to 8 MiB"])
        }
        let connections = configuration.listeners.reduce(0) { $0 + $1.maximumConnections }
        if let limit = OpenFileLimit.raise(for: connections) {
            logger.warning(
                "too few files may be open for public.max_connections",
                metadata: ["limit": .stringConvertible(limit), "max_connections": .stringConvertible(connections)])
        }
        let manager = ServiceManager(environment: environment)
        try await Broker(configuration, manager: manager, logger: logger).run()
    }

    private func checkSocket(
        _ configuration: Configuration, _ environment: [String: String]
    ) throws(ConfigurationError) {
        guard configuration.publicListener.listen == .systemd else { return }
        do throws(ValueDefect) {
            try InheritedSocket.check(environment: environment, onLoopback: configuration.isDevelopment)
        } catch {
            let problem = ConfigurationProblem(
                place: Place(origin: .file, key: "public.listen"), message: error.message)
            throw ConfigurationError(file: options.config, problems: [problem])
        }
    }

    /// Without a configured format, writes text to a terminal and JSON elsewhere.
    static func logger(_ log: Configuration.Log) -> Logger {
        let format: LogFormat =
            switch log.format {
            case .json: .json
            case .text: .text
            case nil: isatty(STDERR_FILENO) == 1 ? .text : .json
            }
        let level = log.level
        LoggingSystem.bootstrap { _ in format.handler(sink: .standardError, level: level) }
        return Logger(label: "native-sso")
    }
}

struct ConfigCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check the configuration.", subcommands: [Check.self])
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

extension ConfigurationProblem {
    /// For the log.
    func metadata(file: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "file": .string(file), "setting": .string(place.key), "problem": .string(message),
        ]
        switch place.origin {
        case .file: break
        case .line(let line): metadata["line"] = .stringConvertible(line)
        case .variable(let name): metadata["variable"] = .string(name)
        }
        return metadata
    }
}

extension ConfigCommand.Check {
    /// - Returns: A warning if the database did not answer: the file may be checked where it cannot be reached.
    private func compareNames(_ configuration: Configuration) async throws -> [ConfigurationProblem] {
        let pool = ConnectionPool(try configuration.database.connection(pool: 1)) { _ in }
        let used: [Issuer: String]?
        do {
            try await pool.waitUntilConnected(within: .seconds(2))
            used = try await SubjectPrefixStore(database: pool).inUse()
        } catch {
            used = nil
        }
        await pool.shutdown()
        guard let used else {
            return [
                ConfigurationProblem(
                    place: Place(origin: .file, key: "database.url"),
                    message:
                        "cannot be asked which subject_prefix is in use, so that none was compared; serve does it again"
                )
            ]
        }
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
