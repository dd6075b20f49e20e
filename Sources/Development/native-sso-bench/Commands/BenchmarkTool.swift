import ArgumentParser

/// Measures the broker: figures, each with its reference in the same run, and no verdict on them. A wrong answer, however, ends
/// the run with status 1, and so does what `fuzz` or `races` finds, or refusals that `timing` tells apart.
@main struct BenchmarkTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "native-sso-bench", abstract: "Figures of the broker on this machine.",
        discussion: """
            Starts a PostgreSQL of its own and brokers on it, loads them, and stops everything. One JSON document on \
            standard output, tables on standard error. Without a subcommand: start, exchange, refresh and scale, in some \
            minutes.
            """,
        subcommands: [
            AllCommand.self, ExchangeCommand.self, RefreshCommand.self, ScaleCommand.self, ConnectionsCommand.self,
            SoakCommand.self, TimingCommand.self, RacesCommand.self, FuzzCommand.self, TableCommand.self,
            PlotCommand.self,
        ],
        defaultSubcommand: AllCommand.self)
}
