import ArgumentParser

struct AllCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(commandName: "all", abstract: "start, exchange, refresh and scale.")

    @OptionGroup var options: LoadOptions
    @OptionGroup var requests: RequestOptions
    @OptionGroup var scale: ScaleOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        try await run.start()
        try await run.requests(requests, kinds: Set(RequestKind.allCases))
        try await run.scale(scale.all, connections: 64)
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

struct ConnectionsCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections", abstract: "What idle connections cost of memory, in the clear and with TLS.",
        discussion: """
            The broker's resident memory before them, with them, and without them again, where they never spoke and where each \
            has exchanged once. If the broker closes one of them, the exit status is 1.
            """)

    @OptionGroup var options: LoadOptions
    @Option(help: "How many.") var idle = 10_000

    mutating func validate() throws {
        guard (1...200_000).contains(idle) else { throw ValidationError("--idle is between 1 and 200000") }
    }

    func measure(_ run: inout BenchmarkRun) async throws {
        let measured = ConnectionsRun(installation: try await run.installation(), options: options, idle: idle)
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
