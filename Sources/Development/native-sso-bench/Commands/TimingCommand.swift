import ArgumentParser

struct TimingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timing", abstract: "Whether refusals that look alike take alike long.",
        discussion: """
            An unknown session, a wrong device and a foreign group are one answer, octet for octet. Each is asked for so many \
            times over one connection, in random order; then Welch's t says of each pair whether its mean times differ: beyond \
            4.5 they do, and the exit status is 1.
            """)

    @OptionGroup var options: LoadOptions
    @Option(help: "Samples of each kind.") var samples = 100_000

    mutating func validate() throws {
        guard (100...10_000_000).contains(samples) else {
            throw ValidationError("--samples is between 100 and 10000000")
        }
    }

    func run() async throws {
        try await BenchmarkRun.perform(options) { run in
            run.add(try await TimingRun(installation: try await run.installation(), samples: samples).section())
        }
    }
}
