import ArgumentParser
import BrokerHTTP
import Glibc
import Logging

/// `native-sso serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract:
            "Answer apps until SIGTERM or SIGINT; SIGHUP reads keys and certificate again, the identity providers', too."
    )

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.configuration()
        if geteuid() == 0 {
            guard configuration.isDevelopment else {
                throw CommandFailure.usage("the broker does not run as root: start it as a user of its own")
            }
            options.output.warn(["warning: running as root, which development: true allows"])
        }
        let logger = Self.logger(configuration.log)
        defer { LogSink.standardError.flush() }
        let connections = configuration.publicListener.maximumConnections
        if let limit = OpenFileLimit.raise(for: connections) {
            logger.warning(
                "too few files may be open for public.max_connections",
                metadata: ["limit": .stringConvertible(limit), "max_connections": .stringConvertible(connections)])
        }
        try await Broker(configuration, logger: logger).run()
    }

    /// As configured; where nothing is said, one JSON object a line, unless a person is looking.
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
