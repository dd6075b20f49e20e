import ArgumentParser
import Migrations
import Migrator
import NativeSSO
import PostgresClient

/// `native-sso migrate`
struct MigrateCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "The schema of the database.",
        subcommands: [MigrateUpCommand.self, MigrateStatusCommand.self, MigrateVerifyCommand.self])
}

/// `native-sso migrate up`
struct MigrateUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Apply what is missing, one file and one transaction at a time.",
        discussion: "Killed at any moment, it leaves whole files behind and can be run again.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let applied = try await options.migrate { migrator throws(MigratorError) in try await migrator.up() }
        var table = Table("applied", columns: ["version", "name"], whenEmpty: "the schema is up to date")
        for migration in applied { table.append([.version(migration.version), .text(migration.name)]) }
        try options.output.show(table)
    }
}

/// `native-sso migrate status`
struct MigrateStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "What was applied, and what is still to be.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let status = try await options.migrate { migrator throws(MigratorError) in try await migrator.status() }
        var table = Table("migrations", columns: ["version", "name", "applied_at", "applied_by"])
        for step in status.applied {
            table.append([
                .version(step.version), .text(step.name),
                .instant(UnixTime(seconds: step.appliedAt.flooredSeconds)), .text(step.appliedBy),
            ])
        }
        for step in status.pending {
            table.append([.version(step.version), .text(step.name), .none, .none])
        }
        try options.output.show(table)
    }
}

/// `native-sso migrate verify`
struct MigrateVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Succeed only if every file is applied and unchanged.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.migrate { migrator throws(MigratorError) in try await migrator.verify() }
        try options.output.show(Record([("schema", .text("up to date"))]))
    }
}

extension Cell {
    /// A repeatable file has none.
    fileprivate static func version(_ version: Int?) -> Cell { version.map { .number(Int64($0)) } ?? .none }
}

extension GlobalOptions {
    fileprivate func migrate<Value: Sendable>(
        _ body: (Migrator) async throws(MigratorError) -> Value
    ) async throws(CommandFailure) -> Value {
        let trouble = ConnectionTrouble()
        let migrator = Migrator(try configuration().database.connection(pool: 1)) { trouble.note($0) }
        do throws(MigratorError) {
            return try await body(migrator)
        } catch {
            throw CommandFailure(error, connecting: trouble.message)
        }
    }
}

extension CommandFailure {
    fileprivate init(_ error: MigratorError, connecting trouble: String?) {
        switch error {
        case .changed, .gap, .databaseIsNewer, .pending: self = .refused(error.description)
        case .database(let error): self.init(error, connecting: trouble)
        case .anotherIsAtWork, .failed: self = .infrastructure(error.description)
        }
    }
}
