import ArgumentParser

struct FuzzCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz", abstract: "Bent requests over HTTP, every answer judged.",
        discussion: """
            Good exchanges, refreshes, client assertions, DPoP proofs, enrolments by exchange and by code, and logouts, changed in \
            forms, heads, framing, HTTP/2 frames, and inside tokens, which are then signed again. A 5xx, a broken connection, an \
            answer outside the contract, a token for what was never signed, given or proved, a refusal of what is not bent, or a \
            broker that has grown or cannot serve any more is a finding: it is shown with the request that found it.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var fuzz: FuzzOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        // Answers are judged here, and nothing is measured. A disk that stalls for 250 ms would make some of them a 503.
        try await run.cluster.sql("ALTER SYSTEM SET fsync = off;\nSELECT pg_reload_conf();")
        run.add(try await FuzzRun(installation: try await run.installation(), fuzz: fuzz).section())
    }
}

struct FuzzOptions: ParsableArguments {
    @Option(help: "How many requests.") var requests = 200_000
    @Option(help: "The same seed bends in the same way.") var seed: UInt64 = 1
    @Option(help: "The number of the first request, to send one of an earlier run again.") var first = 0
    @Option(help: "Connections to each listener: plain, TLS, internal. Each sends several requests at a time.")
    var connections = 6

    mutating func validate() throws {
        guard (1...1_000_000_000).contains(requests), (0...1_000_000_000).contains(first) else {
            throw ValidationError("--requests is between 1 and 1000000000, and so is --first, or 0")
        }
        guard (1...64).contains(connections) else { throw ValidationError("--connections is between 1 and 64") }
    }
}
