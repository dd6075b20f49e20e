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

    @Option(help: "An issuer of tokens that it accepts; may be repeated.")
    var issuer: [String]

    @Option(help: "Where the issuer's keys are, once for each --issuer.")
    var keys: [String]

    @Option(help: "Put before each sub of the issuer, once for each --issuer or not at all; empty for the broker.")
    var subjectPrefix: [String] = []

    @Option(help: "The audience that tokens must name.")
    var audience: String

    @Option(help: "The scope that tokens must have.")
    var scope: String

    @Option(help: "The path of what it serves.")
    var path: String

    func validate() throws {
        guard issuer.count == keys.count, subjectPrefix.isEmpty || subjectPrefix.count == issuer.count else {
            throw ValidationError("--keys, and --subject-prefix if it is given, come once for each --issuer")
        }
    }

    func run() async throws {
        let prefixes = subjectPrefix.isEmpty ? issuer.map { _ in "" } : subjectPrefix
        let issuers = try zip(zip(issuer, keys), prefixes).map { pair, prefix in
            guard let loader = HTTPKeySetLoader(pair.1) else {
                throw ValidationError("--keys is an https URL, or an http URL at this machine")
            }
            return ResourceServer.Issuer(name: pair.0, keys: loader, subjectPrefix: prefix)
        }
        let server = ResourceServer(
            name: name, port: port, issuers: issuers, audience: audience, scope: scope, path: path,
            logger: Logger(label: name, factory: StreamLogHandler.standardError(label:)))
        let application = await server.application { StandardOutput.write(DevelopmentEnvironment.readyLine) }
        try await application.runService()
    }
}
