import ArgumentParser

struct EndsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ends",
        abstract: "How long an ended session still gets tokens, and its access token still passes.",
        discussion: """
            One broker hears of the end, by each cause in turn. Another one is asked for an exchange of the same login until it \
            refuses. A TokenVerifier with a poller asks the other one for ends, and verifies an access token of the session until it \
            refuses. All times begin with the request, the command or the SQL statement that ends the session.
            """)

    @OptionGroup var options: LoadOptions

    func run() async throws {
        try await BenchmarkRun.perform(options) { run in
            run.add(try await EndsRun(installation: try await run.installation(), options: options).section())
        }
    }
}
