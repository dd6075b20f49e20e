import ArgumentParser

/// Measures the broker: figures, each with its reference in the same run, and no verdict on them. A wrong answer, however, ends
/// the run with status 1, and so does what `fuzz` or `races` finds, or refusals that `timing` tells apart.
@main struct BenchmarkTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "native-sso-bench", abstract: "Figures of the broker on this machine.",
        discussion: """
            Starts a PostgreSQL of its own and brokers on it, loads them, and stops everything. One JSON document on \
            standard output, tables on standard error. Without a subcommand: start, database, exchange, refresh and scale, \
            in some minutes.
            """,
        subcommands: [
            AllCommand.self, StartCommand.self, DatabaseCommand.self, ExchangeCommand.self, RefreshCommand.self,
            ScaleCommand.self, ConnectionsCommand.self, LogoutCommand.self, SoakCommand.self, FailoverCommand.self,
            VerifierCommand.self, KeysCommand.self, FuzzCommand.self,
            RegistryFileBenchmark.self, RacesCommand.self, TimingCommand.self, TableCommand.self, PlotCommand.self,
        ],
        defaultSubcommand: AllCommand.self)
}
