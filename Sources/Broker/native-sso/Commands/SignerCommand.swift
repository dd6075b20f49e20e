import ArgumentParser
import BrokerHTTP
import FoundationEssentials
import Glibc
import KeyModule
import Logging
import NativeSSO
import UnixSignals

struct SignerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signer",
        abstract: "Sign for brokers of other accounts, on a Unix socket, until SIGTERM or SIGINT.",
        discussion: "--config names a file of the signer's own, such as /etc/native-sso/signer.yaml.")

    @OptionGroup var options: GlobalOptions

    /// The time between two lines of the log about what was signed.
    private static let reportInterval: Duration = .seconds(60)

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let (configuration, warnings) = try ConfigurationReader.readSigner(
            file: options.config, environment: environment)
        guard geteuid() != 0 || configuration.isDevelopment else {
            throw CommandFailure.usage("the signer does not run as root: start it as a user of its own")
        }
        let logger = ServeCommand.logger(configuration.log, warnings, of: options.config)
        defer { LogSink.standardError.flush() }
        let provider = try configuration.keys.provider()
        try provider.check()
        let server = try SignerServer(
            at: configuration.socket, serving: provider, to: configuration.users,
            policy: SigningPolicy(issuer: configuration.issuer, longest: configuration.longestToken),
            rate: configuration.rate, clock: SystemClock(), report: Self.reporter(logger))
        server.start()
        logger.notice("signer listening", metadata: ["socket": .string(configuration.socket)])
        ServiceManager(environment: environment)?.send(ServiceManager.ready)
        let reports = Task {
            while true {
                try await Task.sleep(for: Self.reportInterval)
                Self.report(server.counts, logger)
            }
        }
        for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { break }
        reports.cancel()
        server.stop()
        Self.report(server.counts, logger)
        logger.notice("signer stopped")
    }

    private static func report(_ counts: [SignerCount], _ logger: Logger) {
        for count in counts {
            logger.info(
                "signed since the start",
                metadata: [
                    "user": .stringConvertible(count.user), "kid": .string(count.kid),
                    "use": .string(count.use.rawValue), "count": .stringConvertible(count.count),
                ])
        }
    }

    private static func reporter(_ logger: Logger) -> @Sendable (SignerEvent) -> Void {
        { event in
            switch event {
            case .connected(let user):
                logger.notice("broker connected", metadata: ["user": .stringConvertible(user)])
            case .disconnected(let user, let reason):
                logger.notice(
                    "broker disconnected",
                    metadata: ["user": .stringConvertible(user), "reason": .string(reason ?? "it ended")])
            case .strangerRefused(let user):
                logger.error(
                    "another account was refused",
                    metadata: [
                        "user": .string(user.map(String.init) ?? "unknown"),
                        "remedy": "if it is a broker, name the account in signer.users",
                    ])
            case .refused(let user, let kid, let reason):
                logger.error(
                    "signature refused",
                    metadata: [
                        "user": .stringConvertible(user), "kid": .string(kid), "reason": .string(reason),
                    ])
            case .keyFailed(let kid, let reason):
                logger.error("key failed", metadata: ["kid": .string(kid), "reason": .string(reason)])
            }
        }
    }
}
