import ArgumentParser
import NativeSSO
import Registry

struct DatabaseCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "database", abstract: "Let brokers go on with a database that has gone back.",
        subcommands: [DatabaseAcceptCommand.self])
}

struct DatabaseAcceptCommand: AsyncParsableCommand {
    enum Sessions: String, ExpressibleByArgument, CaseIterable { case end, keep }

    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Accept a restored database, or a promoted standby that lost writes.",
        discussion: """
            Brokers refuse a database that lacks what was confirmed to them (database_went_backwards). If the database \
            that has it can be brought back, do that instead. Afterwards the brokers connect to this one without a restart.
            """)

    @Option(
        help: """
            `end`: everything that began until now is over, whether this database knows it or not. Apps bring a new \
            id_token, without a login page where the session at the identity provider lives. `keep`: nothing ends.
            """)
    var sessions: Sessions

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        // Brokers wait for this command: what takes too long is left out.
        var last: UnixTime?
        do { last = try await options.administer { try await $0.lastRecord() } } catch is AdministrationError {}
        let instant = last?.rfc3339 ?? "the backup's time"
        let effect =
            switch sessions {
            case .end:
                "every session of every user ends, with all that began until now and is not in this database; apps need a "
                    + "new id_token"
            case .keep:
                "sessions and grants that were ended after \(instant) live again, a code or proof that was used since can be used "
                    + "once more, and apps whose refresh token changed since must exchange again"
            }
        let plan = Plan(
            "accept this database, whose last record is of \(instant)",
            consequences: [
                effect,
                "look for what else was lost in the exported audit from \(instant) on, and repeat it: blocked devices, "
                    + "disabled accounts, suspended identity providers and keys, revoked and removed keys, retired client "
                    + "secrets, changes of clients, groups and scopes",
            ])
        try await execution.carryOut(plan, options) {
            try await $0.acceptDatabase(endingSessions: sessions == .end, $1)
        }
    }
}
