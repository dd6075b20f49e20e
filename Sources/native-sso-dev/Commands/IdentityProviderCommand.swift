import ArgumentParser
import DevelopmentIdP
import Hummingbird
import Logging

struct IdentityProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idp", abstract: "Run the development identity provider alone.",
        discussion: "Writes a line to standard output when it accepts connections.")

    @Option(help: "Its configuration, a JSON file.")
    var configuration: String

    @Option(help: "Its signing key, a PEM file; made if it is not there.")
    var signingKey: String

    @Option(help: "Who can log in, a JSON file; made if it is not there.")
    var users: String

    @Option(
        help: "What a new key is for, and an existing one must be for: ES256 or RS256.",
        transform: { name in
            guard let algorithm = SigningAlgorithm(rawValue: name) else { throw ValidationError("ES256 or RS256") }
            return algorithm
        })
    var algorithm = SigningAlgorithm.es256

    func run() async throws {
        let configuration = try ProviderConfiguration(file: configuration)
        let provider = DevelopmentIdentityProvider(
            configuration, users: try UserDirectory(file: users),
            signingKey: try SigningKey(file: signingKey, algorithm: algorithm),
            logger: Logger(label: "identity-provider", factory: StreamLogHandler.standardError(label:)))
        StandardError.write("\(configuration.issuer): \(DevelopmentIdentityProvider.warning)")
        try await provider.application { _ in StandardOutput.write(Readiness.line) }.runService()
    }
}
