import ArgumentParser
import Migrations
import Migrator
import NativeSSO
import PostgresClient
import StrictCoding

struct MigrateCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Create or upgrade the database schema.",
        subcommands: [
            MigratePlanCommand.self, MigrateUpCommand.self, MigrateStatusCommand.self, MigrateVerifyCommand.self,
        ])
}

struct MigrateUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Apply missing migrations, each file in its own transaction.",
        discussion: "You can stop and repeat it at any time: it goes on with the first file that is not applied.")

    @OptionGroup var last: LastMigrationOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let applied = try await Progress.showing("migrate") {
            try await options.migrate { try await $0.up(to: last.to) }
        }
        let table = Table("applied", applied, whenEmpty: "the schema is up to date") {
            ["version": .version($0.version), "name": .text($0.name)]
        }
        try options.output.show(table)
    }
}

struct LastMigrationOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The last numbered file, for a migration in steps. Brokers serve only once all files are applied.",
            valueName: "number"))
    var to: Int?
}

struct MigratePlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Show the missing migrations: what each is for, what it locks, and its SQL.",
        discussion: """
            It changes nothing. With --try it applies them, undoes them, and shows what each locked and for how long. \
            The trial takes the same locks as migrate up, for at most 10 s a statement: run it on a copy of the database \
            first.
            """)

    @Flag(name: .customLong("try"), help: "Apply the files, measure, and undo them.")
    var tries = false

    @Flag(help: "Show the SQL of each file.")
    var sql = false

    @OptionGroup var last: LastMigrationOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (pending, trials) = try await options.migrate {
            (try await $0.plan(to: last.to), tries ? try await $0.trial(to: last.to) : [])
        }
        try options.output.show(MigrationPlan(pending: pending, trials: trials, showsSQL: sql))
    }
}

/// What `migrate up` would do.
private struct MigrationPlan: ObjectResult {
    let pending: [Migration]
    /// Empty: not tried.
    let trials: [MigrationTrial]
    let showsSQL: Bool

    private var table: Table {
        Table("plan", pending, whenEmpty: "the schema is up to date") { migration in
            let trial = trials.first { $0.migration.file == migration.file }
            let locks = trial.map { $0.locks.isEmpty ? "nothing in use" : $0.locks.joined(separator: ", ") }
            return [
                "file": .text(migration.file), "release": Cell(migration.release),
                // Without a trial, what the head of the file says.
                "locks": .text(locks ?? migration.locks ?? "nothing in use"),
                "milliseconds": trial.map { .number(Int64($0.duration / .milliseconds(1))) } ?? .none,
            ]
        }
    }

    var lines: [String] {
        table.lines
            + (showsSQL
                ? pending.flatMap { migration in
                    let text = migration.text.split(separator: "\n", omittingEmptySubsequences: false)
                    return ["", "-- \(migration.file)"] + text.map(String.init)
                }
                : [])
            + (pending.isEmpty ? [] : ["Nothing was changed. To apply them: native-sso migrate up"])
    }

    func members(to json: inout JSONWriter) {
        json.array("plan", of: Array(zip(pending, table.rows))) { planned, json in
            planned.1.members(to: &json)
            if showsSQL { json.member("sql", planned.0.text) }
        }
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
        commandName: "verify",
        abstract: "Succeed only if every file is applied, and the schema is as the files make it.",
        discussion: """
            It makes the schema anew in a transaction that it undoes, and compares tables, indexes, constraints, triggers, \
            functions, owners, grants and roles. It locks none of your tables. The database user is the one of migrate up.
            """)

    @Flag(help: "Compare the list of applied files only, which needs no privilege to make a schema.")
    var filesOnly = false

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let drift = try await options.migrate { migrator throws(MigratorError) in
            guard filesOnly else { return try await migrator.drift() }
            try await migrator.verify()
            return [SchemaDrift]()
        }
        guard !drift.isEmpty else { return try options.output.show(["schema": .text("up to date")] as Record) }
        let table = Table("drift", drift) {
            ["object": .text($0.object), "expected": Cell($0.expected), "found": Cell($0.found)]
        }
        try options.output.show(table)
        throw CommandFailure.refused(
            "the schema is not as the migrations make it: \(drift.count.counted("difference")), the first in "
                + "\(drift[0].object)")
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
        case .changed, .gap, .databaseIsNewer, .pending, .skipsRelease, .foreignSchema:
            self = .refused(error.description)
        case .noSuchVersion: self = .usage(error.description)
        case .database(let error): self.init(error, connecting: failure)
        case .anotherIsAtWork, .failed: self = .infrastructure(error.description)
        }
    }
}
