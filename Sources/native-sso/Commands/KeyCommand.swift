import ArgumentParser
import KeyModule
import NativeSSO
import Registry

/// `native-sso key`
struct KeyCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "The broker's own keys.",
        subcommands: [
            KeyGenerateCommand.self, KeyListCommand.self, KeyPublishCommand.self, KeyActivateCommand.self,
            KeyRetireCommand.self, KeyRemoveCommand.self,
        ])
}

/// `native-sso key list`
struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "The keys that were not removed, and whether this machine can use them.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let provider = FileKeyProvider(directory: try options.configuration().keys.directory)
        let rows = try await options.administer { registry throws(AdministrationError) in try await registry.keys() }
        let problems = KeySet(rows.compactMap(KeyRecord.init), from: provider).problems
        var table = Table(
            "keys",
            columns: [
                "kid", "use", "algorithm", "state", "created_at", "published_at", "activated_at", "retired_at",
                "usable_here",
            ])
        for row in rows {
            table.append([
                .text(row.kid), .text(row.use), .text(row.algorithm), .text(row.state), .instant(row.createdAt),
                Cell(row.publishedAt), Cell(row.activatedAt), Cell(row.retiredAt),
                .flag(!problems.contains { $0.kid == row.kid }),
            ])
        }
        try options.output.show(table)
        options.output.warn(problems.map(\.description))
    }
}
