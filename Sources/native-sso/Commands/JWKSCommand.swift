import ArgumentParser
import KeyModule
import Registry
import StrictCoding

/// `native-sso jwks`
struct JWKSCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "jwks", abstract: "The public keys that verify what the broker signs.",
        subcommands: [JWKSExportCommand.self])
}

/// `native-sso jwks export`
struct JWKSExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the JWKS as the internal listener publishes it.",
        discussion: "JSON in any case, for whoever serves it as a file.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let provider = FileKeyProvider(directory: try options.configuration().keys.directory)
        let rows = try await options.administer { try await $0.keys() }
        let keys = KeySet(rows.compactMap(KeyRecord.init), from: provider)
        // A set that lacks a key would have its tokens refused by whoever fetches it.
        if let problem = keys.problems.first(where: { $0.use == .accessToken }) {
            throw CommandFailure.infrastructure(problem.description)
        }
        guard keys.signingKID != nil else { throw CommandFailure.notFound("there is no active signing key") }
        try CommandOutput(format: .json).show(KeySetDocument(octets: keys.jwks))
    }
}

/// A JWKS document, as it is.
private struct KeySetDocument: CommandResult {
    let octets: [UInt8]

    var lines: [String] { [String(decoding: octets, as: UTF8.self)] }

    func write(to json: inout JSONWriter) { json.value(raw: octets) }
}
