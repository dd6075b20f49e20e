import ArgumentParser
import Registry

struct DatabaseCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "database", abstract: "Let running brokers go on with a database that was replaced.",
        subcommands: [DatabaseAcceptCommand.self])
}

struct DatabaseAcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Accept this PostgreSQL cluster after pg_upgrade or a restore.",
        discussion: """
            Running brokers refuse a database of another cluster, or of an earlier position (database_went_backwards). \
            Afterwards they connect to this one without a restart. \
            What a restored database lost stays lost: end the sessions of that time first.
            """)

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let identity = try await options.administer { try await $0.databaseIdentity() }
        let plan = Plan(
            "accept the PostgreSQL cluster \(identity.present)",
            consequences: [
                identity.present == identity.recorded
                    ? "running brokers connect to it although its position is earlier than one that they have seen"
                    : "running brokers that know the cluster \(identity.recorded) connect to this one"
            ])
        try await execution.carryOut(plan, options) { try await $0.acceptDatabase($1) }
    }
}
