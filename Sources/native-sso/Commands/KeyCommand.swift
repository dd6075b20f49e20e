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
        let rows = try await options.administer { try await $0.keys() }
        let files = Files(rows, provider)
        let table: [Record] = rows.map {
            [
                "kid": .text($0.kid), "use": .text($0.use), "algorithm": .text($0.algorithm), "state": .text($0.state),
                "created_at": .instant($0.createdAt), "published_at": Cell($0.publishedAt),
                "activated_at": Cell($0.activatedAt), "retired_at": Cell($0.retiredAt),
                "usable_here": files.isUsable($0),
            ]
        }
        try options.output.show(Table("keys", table))
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
