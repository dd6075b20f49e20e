import ArgumentParser
import Hummingbird
import Logging
import TokenVerifier

struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server", abstract: "Run a sample resource server alone.",
        discussion: "Writes a line to standard output when it accepts connections.")

    @Option(help: "What it calls itself.")
    var name: String

    @Option(help: "Where it listens, on 127.0.0.1.")
    var port: Int

    @Option(help: "The issuer of the tokens that it accepts.")
    var issuer: String

    @Option(help: "Where the issuer's keys are.")
    var keys: String

    @Option(help: "The audience that tokens must name.")
    var audience: String

    func run() async throws {
        guard let keys = HTTPKeySetLoader(keys) else {
            throw ValidationError("--keys is an https URL, or an http URL at this machine")
        }
        let server = ResourceServer(
            name: name, port: port, issuer: issuer, keys: keys, audience: audience,
            logger: Logger(label: name, factory: StreamLogHandler.standardError(label:)))
        let application = await server.application { StandardOutput.write(DevelopmentEnvironment.readyLine) }
        try await application.runService()
    }
}
