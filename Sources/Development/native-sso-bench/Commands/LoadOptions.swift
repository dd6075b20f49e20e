import ArgumentParser
import JOSE

/// What holds for every subcommand.
struct LoadOptions: ParsableArguments {
    @Option(help: "Rounds, in each of which everything is measured once. Median, least and most are reported.")
    var rounds = 3

    @Option(help: "Length of one measurement, in seconds.")
    var seconds = 2.0

    @Option(
        help:
            "Where the run makes its own directory, removed at the end: the disk that is measured. Default: the temporary one."
    )
    var directory: String?

    mutating func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is between 1 and 100") }
        guard (0.2...600).contains(seconds) else { throw ValidationError("--seconds is between 0.2 and 600") }
    }
}

/// Which requests, over how many connections.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .customLong("connections"), help: "Keep-alive connections; may be repeated. Default: 1, 16, 64 and 256.")
    var connectionCounts: [Int] = []

    @Option(
        name: .customLong("algorithms"),
        help: ArgumentHelp(
            "Identity provider's and broker's. Default: ES256:ES256; over 64 connections RS256:ES256, RS256:RS256.",
            valueName: "ES256:RS256"))
    var algorithms: [Algorithms] = []

    @Flag(help: "Also repeated exchanges by an app that shows a key, each with a proof, beside those without.")
    var dpop = false

    @Option(help: "Logins that the requests are of, in turn.")
    var logins = 20_000

    mutating func validate() throws {
        guard (100...1_000_000).contains(logins) else { throw ValidationError("--logins is between 100 and 1000000") }
        guard connectionCounts.allSatisfy({ (1...1000).contains($0) }) else {
            throw ValidationError("--connections is between 1 and 1000")
        }
    }

    /// Each pair of algorithms with its numbers of connections.
    var cases: [(algorithms: Algorithms, connections: [Int])] {
        let connections = connectionCounts.isEmpty ? [1, 16, 64, 256] : connectionCounts
        guard algorithms.isEmpty else { return algorithms.map { ($0, connections) } }
        return [
            (Algorithms(provider: .es256, broker: .es256), connections),
            (Algorithms(provider: .rs256, broker: .es256), [64]),
            (Algorithms(provider: .rs256, broker: .rs256), [64]),
        ]
    }
}

struct ScaleOptions: ParsableArguments {
    @Option(
        name: .customLong("sessions"),
        help: "Sessions in the registry; may be repeated. The fewest are the reference. Default: 100000 and 1000000.")
    var sizes: [Int] = []

    @Flag(help: "Also 10000000 sessions: some 15 GB of disk and several minutes to make them.")
    var large = false

    mutating func validate() throws {
        guard sizes.allSatisfy({ (1000...100_000_000).contains($0) }) else {
            throw ValidationError("--sessions is between 1000 and 100000000")
        }
    }

    var all: [Int] { (sizes.isEmpty ? [100_000, 1_000_000] : sizes) + (large ? [10_000_000] : []) }
}

extension Algorithms: ExpressibleByArgument {
    init?(argument: String) {
        let names = argument.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard names.count == 2, names.allSatisfy({ ["ES256", "RS256"].contains($0) }) else { return nil }
        self.init(provider: names[0] == "ES256" ? .es256 : .rs256, broker: names[1] == "ES256" ? .es256 : .rs256)
    }
}
