import ArgumentParser

struct RacesCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "races", abstract: "Random interleavings of calls on one login, each checked.",
        discussion: """
            Exchanges, refreshes, replays by a thief, ends by an operator, logouts and expiry run at once on one login, in \
            transactions that are held open in random order. Nothing may be granted after an acknowledged end, no generation is \
            issued twice, no honest app is revoked, and a proven theft leaves nothing live. A violation is shown with its seed and \
            history, and the exit status is 1. A mutant is a fault that is planted in the SQL functions: there the exit status is \
            1 if the fault is not found.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var races: RaceOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        run.add(try await RaceRun(cluster: run.cluster, template: run.template, races: races).section())
    }
}

struct RaceOptions: ParsableArguments {
    @Option(help: "How many interleavings; with a mutant: how many at most until it is found.")
    var interleavings = 100_000
    @Option(help: "The same seed chooses the same calls and the same order.") var seed: UInt64 = 1
    @Option(help: "The number of the first interleaving, to run one of an earlier run again.") var first = 0
    @Option(help: "Logins that are raced for at the same time. One repeats an order most faithfully.") var workers = 6
    @Option(help: "Plants this fault; may be repeated: \(RaceMutant.all.map(\.name).joined(separator: ", ")).")
    var mutant: [String] = []
    @Flag(help: "Plants each fault in turn, and tells after how many interleavings it was found.") var mutants = false

    mutating func validate() throws {
        guard (1...100_000_000).contains(interleavings), (0...100_000_000).contains(first), (1...32).contains(workers)
        else {
            throw ValidationError(
                "--interleavings is between 1 and 100000000, so is --first, or 0, and --workers is between 1 and 32")
        }
        guard mutant.allSatisfy({ name in RaceMutant.all.contains { $0.name == name } }) else {
            throw ValidationError("--mutant is one of \(RaceMutant.all.map(\.name).joined(separator: ", "))")
        }
        guard mutant.isEmpty || !mutants else { throw ValidationError("--mutant or --mutants, not both") }
    }

    /// What is planted, one after the other; `nil`: nothing.
    var planted: [RaceMutant?] {
        if mutants { return RaceMutant.all }
        guard !mutant.isEmpty else { return [nil] }
        return RaceMutant.all.filter { mutant.contains($0.name) }
    }
}
