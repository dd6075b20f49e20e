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
        let files = Files(rows, provider)
        var table = Table(
            "keys",
            columns: [
                "kid", "use", "algorithm", "state", "created_at", "published_at", "activated_at", "retired_at",
                "usable_here",
            ])
        for row in rows {
            table.append([
                .text(row.kid), .text(row.use), .text(row.algorithm), .text(row.state), .instant(row.createdAt),
                Cell(row.publishedAt), Cell(row.activatedAt), Cell(row.retiredAt), files.isUsable(row),
            ])
        }
        try options.output.show(table)
        options.output.warn(files.warnings)
    }

    /// The key files of this machine, as far as this user can judge them.
    private enum Files {
        /// Another user's, who may well be the one that the broker runs as.
        case ofAnotherUser(UInt32, path: String)
        case seen([KeySet.Problem])

        init(_ rows: [SigningKeyRow], _ provider: FileKeyProvider) {
            do throws(KeyError) {
                try provider.check()
            } catch .file(let path, .wrongOwner(let uid, _)) where uid != 0 {
                self = .ofAnotherUser(uid, path: path)
                return
            } catch {
                // Said of each key below.
            }
            self = .seen(KeySet(rows.compactMap(KeyRecord.init), from: provider).problems)
        }

        func isUsable(_ row: SigningKeyRow) -> Cell {
            switch self {
            case .ofAnotherUser: .none
            case .seen(let problems): .flag(!problems.contains { $0.kid == row.kid })
            }
        }

        var warnings: [String] {
            switch self {
            case .ofAnotherUser(let uid, let path):
                ["\(path) belongs to user \(uid): whether the keys are usable cannot be judged from this account"]
            case .seen(let problems): problems.map(\.description)
            }
        }
    }
}
