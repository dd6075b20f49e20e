import ArgumentParser
import BrokerHTTP
import FoundationEssentials
import Glibc
import KeyModule
import Logging
import NativeSSO

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
        let logger = Self.logger(configuration.log, result.warnings, of: options.config)
        defer { LogSink.standardError.flush() }
        if isRoot { logger.warning("running as root, as a broker for development may") }
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

    /// Without a configured format, writes text to a terminal and JSON elsewhere. Logs the warnings about the file first.
    static func logger(_ log: Configuration.Log, _ warnings: [ConfigurationProblem], of file: String) -> Logger {
        let format = log.format ?? (StandardStream.error.isTerminal ? .text : .json)
        let level = log.level
        LoggingSystem.bootstrap { _ in format.handler(sink: .standardError, level: level) }
        let logger = Logger(label: "native-sso")
        for warning in warnings { logger.warning("doubtful configuration", metadata: warning.metadata(file: file)) }
        return logger
    }
}

extension ConfigurationProblem {
    /// For the log.
    fileprivate func metadata(file: String) -> Logger.Metadata {
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
