import ArgumentParser

struct LogoutCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "What the end of a user with very many sessions does to everybody else.",
        discussion: """
            Others exchange at a steady rate at one broker; then the identity provider says there that a user is logged out \
            everywhere. Their latency before and meanwhile, the time until the answer, and until another broker refuses the \
            last of the user's sessions. One that either broker takes after the answer ends the run with status 1.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var logout: LogoutOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        let measured = LogoutRun(installation: try await run.installation(), options: options, logout: logout)
        run.add(try await measured.section())
    }
}

struct LogoutOptions: ParsableArguments {
    @Option(
        help: "Sessions of the user, each with a grant; the next rounds' users have as many, row by row between them.")
    var sessions = 100_000
    @Option(help: "Exchanges of others each second, over 16 connections.") var rate = 1000

    mutating func validate() throws {
        guard (100...10_000_000).contains(sessions), (16...10_000).contains(rate) else {
            throw ValidationError("--sessions is between 100 and 10000000, --rate between 16 and 10000")
        }
    }
}
