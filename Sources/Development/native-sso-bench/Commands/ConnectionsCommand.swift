import ArgumentParser

struct ConnectionsCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections",
        abstract: "What idle connections cost of memory, and slow attackers of an honest client's time.",
        discussion: """
            Idle connections: the broker's resident memory before them, with them, and without them again, where they never \
            spoke and where each has exchanged once. Attackers: those that never speak, send header, body or handshake an octet \
            a second, or ask and never read; who is shed comes back at once. They share the machine with the broker. A \
            connection that is idle and was closed, or an honest one that was, ends the run with status 1.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var connections: ConnectionOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        let measured = ConnectionsRun(
            installation: try await run.installation(), options: options, connections: connections)
        run.add(try await measured.section())
    }
}

struct ConnectionOptions: ParsableArguments {
    @Option(help: "Idle connections; 0: none are measured.") var idle = 10_000
    @Option(help: "Slow attackers, shared out among all kinds; 0: none.") var attackers = 2000
    @Option(help: "How long they attack; the patience with the silent is 60 s.") var attackSeconds = 70
    @Option(help: "An honest client's requests each second, over 4 connections.") var rate = 200
    @Option(name: .customLong("transport"), help: "plain or tls; may be repeated. Default: both.")
    var chosen: [Transport] = []

    var transports: [Transport] { chosen.isEmpty ? Transport.allCases : chosen }

    mutating func validate() throws {
        guard (0...200_000).contains(idle), (0...200_000).contains(attackers) else {
            throw ValidationError("--idle and --attackers are between 0 and 200000")
        }
        guard (1...3600).contains(attackSeconds), (4...10_000).contains(rate) else {
            throw ValidationError("--attack-seconds is between 1 and 3600, --rate between 4 and 10000")
        }
    }
}

extension Transport: ExpressibleByArgument {}
