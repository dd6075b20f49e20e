import ArgumentParser

struct AllCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Everything below but connections, logout, failover, soak, verifier, keys, fuzz, races and timing.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var requests: RequestOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var scale: ScaleOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.start()
        try await run.database(callers: database.counts)
        try await run.requests(requests, kinds: Set(RequestKind.allCases))
        try await run.scale(scale.all, connections: 64)
    }
}

struct StartCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Time from the start of a broker until it is ready, and its memory then.")

    @OptionGroup var options: LoadOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.start()
    }
}

struct DatabaseCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "database", abstract: "The hot statements alone: our client against pgbench.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var database: DatabaseOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.database(callers: database.counts)
    }
}

struct ExchangeCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange", abstract: "Token exchanges over HTTP: of new logins, by new apps, and repeated ones.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var requests: RequestOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.requests(requests, kinds: Set(RequestKind.allCases.filter(\.isExchange)))
    }
}

struct RefreshCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Refreshes over HTTP, of many families in turn.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var requests: RequestOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.requests(requests, kinds: [.refresh])
    }
}

struct ScaleCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "What an exchange costs with few and with many sessions in the registry.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var scale: ScaleOptions
    @Option(help: "Keep-alive connections.") var connections = 64

    mutating func validate() throws {
        guard (1...1000).contains(connections) else { throw ValidationError("--connections is between 1 and 1000") }
    }

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.scale(scale.all, connections: connections)
    }
}

struct FailoverCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "failover", abstract: "Exchanges while the primary database dies and its standby is promoted.",
        discussion: """
            32 callers exchange at a steady rate. Then the primary is killed (SIGKILL) and its synchronous standby is \
            promoted at once: an operator's own tool adds the time it takes to notice. `plot` draws the report as a time line.
            """)

    @OptionGroup var options: LoadOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        run.add(try await FailoverRun().section())
    }
}

struct VerifierCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "verifier", abstract: "What `TokenVerifier` costs an API beside the bare signature check.")

    @OptionGroup var options: LoadOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        run.add(try await VerifierRun(options: options).section())
    }
}

struct RegistryFileBenchmark: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "registry", abstract: "How long `registry plan`, `apply` and `export` take for many clients.")

    @Option(help: "Clients in the file.") var clients = 10_000
    @OptionGroup var options: LoadOptions

    mutating func validate() throws {
        guard (1...50_000).contains(clients) else { throw ValidationError("--clients is between 1 and 50000") }
    }

    func measure(_ run: inout BenchmarkRun) async throws {
        let measured = RegistryRun(
            installation: try await run.installation(), rounds: options.rounds, clients: clients)
        run.add(try await measured.section())
    }
}

struct TimingCommand: MeasuringCommand {
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

    func measure(_ run: inout BenchmarkRun) async throws {
        run.add(try await TimingRun(installation: try await run.installation(), samples: samples).section())
    }
}
