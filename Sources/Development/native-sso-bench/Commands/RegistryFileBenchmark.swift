import ArgumentParser

struct RegistryFileBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registry", abstract: "How long `registry plan`, `apply` and `export` take for many clients.")

    @Option(help: "Clients in the file.") var clients = 10_000
    @OptionGroup var options: LoadOptions

    mutating func validate() throws {
        guard (1...50_000).contains(clients) else { throw ValidationError("--clients is between 1 and 50000") }
    }

    func run() async throws {
        try await BenchmarkRun.perform(options) { run in
            let measured = RegistryRun(
                installation: try await run.installation(), rounds: options.rounds, clients: clients)
            run.add(try await measured.section())
        }
    }
}
