import ArgumentParser
import BrokerHTTP
import Foundation
import Glibc
import Logging
import StrictCoding

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve apps until SIGTERM or SIGINT. SIGHUP reads keys, certificate and key sets again.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.configuration()
        if geteuid() == 0 {
            guard configuration.isDevelopment else {
                throw CommandFailure.usage("the broker does not run as root: start it as a user of its own")
            }
            options.output.warn(["warning: running as root, which development: true allows"])
        }
        let environment = ProcessInfo.processInfo.environment
        try checkSocket(configuration, environment)
        let logger = Self.logger(configuration.log)
        defer { LogSink.standardError.flush() }
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
    private static func logger(_ log: Configuration.Log) -> Logger {
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
    /// Reads the configuration and its secret files as `serve` does, and checks that the key directory exists.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Report every problem of the configuration, and what to write instead.")

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
