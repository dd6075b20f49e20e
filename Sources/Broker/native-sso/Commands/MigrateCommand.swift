import ArgumentParser
import Migrations
import Migrator
import NativeSSO
import PostgresClient

struct MigrateCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Create or upgrade the database schema.",
        subcommands: [
            MigrateUpCommand.self, MigrateCheckCommand.self, MigrateStatusCommand.self, MigrateVerifyCommand.self,
        ])
}

struct MigrateUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Apply missing migrations, each file in its own transaction.",
        discussion: "You can stop and repeat it at any time.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let applied = try await Progress.showing("migrate") { try await options.migrate { try await $0.up() } }
        let table = Table("applied", applied, whenEmpty: "the schema is up to date") {
            ["version": .version($0.version), "name": .text($0.name)]
        }
        try options.output.show(table)
    }
}

struct MigrateCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Try the missing migrations, undo them, and show what they lock and for how long.",
        discussion: """
            The trial takes the same locks as migrate up, for at most 10 s a statement. \
            Run it on a copy of the database first.
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let trials = try await options.migrate { try await $0.check() }
        let table = Table("trials", trials, whenEmpty: "the schema is up to date") {
            [
                "file": .text($0.migration.file), "milliseconds": .number(Int64($0.duration / .milliseconds(1))),
                "locks": .text($0.locks.isEmpty ? "nothing in use" : $0.locks.joined(separator: ", ")),
            ]
        }
        try options.output.show(table)
    }
}

struct MigrateStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "List applied and missing migrations.",
        discussion: "The exit status is 1 if one is missing.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let status = try await options.migrate { try await $0.status() }
        let applied: [Record] = status.applied.map {
            [
                "version": .version($0.version), "name": .text($0.name),
                "applied_at": .instant(UnixTime(seconds: $0.appliedAt.flooredSeconds)),
                "applied_by": .text($0.appliedBy),
            ]
        }
        let pending: [Record] = status.pending.map {
            ["version": .version($0.version), "name": .text($0.name), "applied_at": .none, "applied_by": .none]
        }
        try options.output.show(Table("migrations", applied + pending, row: \.self))
        guard pending.isEmpty else {
            throw CommandFailure.refused(MigratorError.pending(files: status.pending.map(\.file)).description)
        }
    }
}

struct MigrateVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Succeed only if every file is applied and unchanged.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.migrate { try await $0.verify() }
        try options.output.show(["schema": .text("up to date")] as Record)
    }
}

extension Cell {
    /// A repeatable file has none.
    fileprivate static func version(_ version: Int?) -> Cell { version.map { .number(Int64($0)) } ?? .none }
}

extension GlobalOptions {
    fileprivate func migrate<Value: Sendable>(_ body: (Migrator) async throws -> Value) async throws -> Value {
        let failure = ConnectionFailure()
        let migrator = Migrator(try read { $0.database() }.connection(pool: 1)) { failure.note($0) }
        do {
            return try await body(migrator)
        } catch let error as MigratorError {
            throw CommandFailure(error, connecting: failure.message)
        }
    }
}

extension CommandFailure {
    fileprivate init(_ error: MigratorError, connecting failure: String?) {
        switch error {
        case .changed, .gap, .databaseIsNewer, .pending, .skipsRelease: self = .refused(error.description)
        case .database(let error): self.init(error, connecting: failure)
        case .anotherIsAtWork, .failed: self = .infrastructure(error.description)
        }
    }
}
