import ArgumentParser
import BrokerHarness

struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Memory, descriptors and tables of a broker under a steady load for hours.",
        discussion: """
            Half of the requests are repeated exchanges, half are refreshes. Each second one login comes and one \
            ends; each minute a sweep deletes old ones. The run fails if the broker's resident memory grows by 1 MiB \
            an hour or more, or the tables of sessions and grants, for each row, to 1.2 times their size or more. It \
            also fails if the broker has more descriptors at the end than after the first quarter. A run below half \
            an hour judges none of this.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var soak: SoakOptions

    func run() async throws {
        var growth: String?
        try await BenchmarkRun.perform(options) { run in
            let section: Section
            (section, growth) = try await SoakRun(installation: try await run.installation(), soak: soak).section()
            run.add(section)
        }
        if let growth { throw ManagedProcess.Failure(description: growth) }
    }
}

struct SoakOptions: ParsableArguments {
    @Option(help: "How long, in hours.") var hours = 1.0
    @Option(help: "Exchanges and refreshes each second, over 32 connections.") var rate = 200
    @Option(help: "Logins that they are of, in turn.") var logins = 5000

    mutating func validate() throws {
        guard (0.001...168).contains(hours), (32...10_000).contains(rate), (100...1_000_000).contains(logins) else {
            throw ValidationError(
                "--hours is between 0.001 and 168, --rate between 32 and 10000, --logins between 100 and 1000000")
        }
    }

    var seconds: Double { hours * 3600 }
}
