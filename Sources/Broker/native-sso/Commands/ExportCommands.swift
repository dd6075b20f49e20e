import ArgumentParser
import BrokerHTTP
import KeyModule
import NativeSSO
import Registry

struct JWKSCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "jwks", abstract: "Export the public keys that verify the broker's tokens.",
        subcommands: [JWKSExportCommand.self])
}

struct JWKSExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print the JWKS that the internal listener publishes.",
        discussion: "The output is always JSON, so that you can serve it as a file.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.read { $0.keys() }
        let provider = try configuration.provider()
        let rows = try await options.administer { try await $0.keys() }
        let keys = await KeySet(rows.records, of: configuration.replica, from: provider)
        // If the set lacks a key, its readers refuse that key's tokens.
        if let problem = keys.problems.first(where: { $0.use == .accessToken }) {
            throw CommandFailure.infrastructure(problem.description)
        }
        guard keys.algorithm != nil else { throw CommandFailure.notFound("there is no active signing key") }
        try CommandOutput(format: .json).show(JSONDocument(octets: keys.jwks))
    }
}

struct MetadataCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "metadata", abstract: "Export the metadata that describes the broker.",
        subcommands: [MetadataExportCommand.self])
}

struct MetadataExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print the metadata that the internal listener publishes.",
        discussion: "The output is always JSON, so that you can serve it as a file.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.read(openingFiles: false) { Configuration(reading: $0) }
        var metadata = ServerMetadata(configuration)
        metadata.authorizationEndpoint = try login(configuration)
        metadata.scopes = try await options.administer { try await $0.clients() }.allowedScopes
        try CommandOutput(format: .json).show(JSONDocument(octets: metadata.json))
    }

    /// A running broker may know it from the discovery document of the identity provider, which is not fetched here.
    private func login(_ configuration: Configuration) throws(CommandFailure) -> String? {
        let relaying = configuration.identityProviders.filter { !$0.isDisabled && $0.codeRelay != nil }
        switch configuration.advertisedLogin {
        case .never: return nil
        case .automatic where relaying.count != 1: return nil
        case .provider(let issuer):
            if let endpoint = relaying.first(where: { $0.issuer == issuer })?.authorizationEndpoint { return endpoint }
        case .automatic: break
        }
        throw .refused(
            "the login endpoint in the metadata comes from the discovery document of the identity provider; write its "
                + "issuer in advertise_login and its authorization_endpoint in its entry, or write advertise_login: none"
        )
    }
}
