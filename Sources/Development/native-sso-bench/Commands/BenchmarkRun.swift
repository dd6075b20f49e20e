import ArgumentParser
import BrokerHarness
import Foundation
import JOSE
import PrivateCluster
import StrictCoding

/// A command with a run of its own.
protocol MeasuringCommand: AsyncParsableCommand {
    var options: LoadOptions { get }

    func measure(_ run: inout BenchmarkRun) async throws
}

extension MeasuringCommand {
    func run() async throws { try await BenchmarkRun.perform(options, measure) }
}

/// One run of the tool: what it starts, what it measures, and what it reports.
struct BenchmarkRun {
    private let options: LoadOptions
    let directory: WorkingDirectory
    let cluster: BenchmarkCluster
    /// The database that every installation is a copy of.
    let template: String
    private(set) var report: Report

    /// Starts PostgreSQL, measures, reports, and stops it again, whatever happened.
    static func perform(_ options: LoadOptions, _ measure: (inout BenchmarkRun) async throws -> Void) async throws {
        let start = ProcessClock.monotonic
        let directory = try WorkingDirectory(named: "native-sso-bench", in: options.directory)
        let machine = Machine()
        say("starting PostgreSQL in \(directory.path)")
        let cluster = try await BenchmarkCluster(in: directory)
        let report = try await ending {
            var run = try await BenchmarkRun(options, directory, cluster, machine)
            try await measure(&run)
            run.report.seconds = Double(ProcessClock.monotonic - start) / 1e9
            return run.report
        } with: {
            try await cluster.stop()
        }
        await directory.remove()
        say(report.table)
        print(report.json)
        if report.wrongAnswers > 0 { throw ExitCode.failure }
    }

    private init(
        _ options: LoadOptions, _ directory: WorkingDirectory, _ cluster: BenchmarkCluster, _ machine: Machine
    ) async throws {
        self.options = options
        self.directory = directory
        self.cluster = cluster
        var settings: [(name: String, value: String)] = []
        for name in [
            "server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers",
            "max_wal_size",
        ] {
            settings.append((name, try await cluster.setting(name)))
        }
        report = Report(
            machine: machine, postgresql: settings,
            commit: ProcessInfo.processInfo.environment["NATIVE_SSO_BENCH_COMMIT"],
            options: options)
        template = try await MeasuredInstallation.makeTemplate(on: cluster, in: directory)
    }

    /// A broker that has done nothing yet.
    mutating func start() async throws {
        say("start")
        let installation = try await installation()
        var figure = Figure(["broker": .string("idle")])
        for _ in 0..<options.rounds {
            let start = ProcessClock.monotonic
            try await installation.base.withBroker { broker in
                figure.add([
                    .readyAfter: Double(ProcessClock.monotonic - start) / 1e6,
                    .residentKiB: Double(try ProcessStatus.kibibytes("VmRSS", of: broker.pid)),
                    .ownKiB: Double(try ProcessStatus.kibibytes("RssAnon", of: broker.pid)),
                ])
            }
        }
        add(Section("start", figures: [figure]))
    }

    /// Exchanges and refreshes: rounds of all kinds over all numbers of connections, one pair of algorithms after the other.
    mutating func requests(
        _ requests: RequestOptions, kinds: Set<RequestKind>
    ) async throws {
        let kinds = requests.dpop ? kinds : kinds.subtracting([.proven])
        let facts = [("logins", JSONValue.integer(requests.logins)), ("apps", .integer(SampleApps.targets.count))]
        var (exchange, refresh) = (Section("exchange", facts: facts), Section("refresh", facts: facts))
        for (algorithms, connections) in requests.cases {
            let name = "\(algorithms.provider.rawValue) in, \(algorithms.broker.rawValue) out"
            say("requests: \(name), signing \(requests.logins) id_tokens")
            let installation = try await installation(algorithms)
            let measured = try await installation.base.withBroker { broker in
                var run = try await RequestRun(
                    try await RequestProbe(installation, broker), logins: requests.logins,
                    isProving: kinds.contains(.proven), at: Int64(time(nil)))
                var newLogins = try await run.bringInLogins(rounds: options.rounds, connections: 64)
                newLogins.adoptFailures(of: try await run.bringInKeys(connections: 64))
                let others = RequestKind.allCases.filter { $0 != .newLogin }
                return [(kind: RequestKind.newLogin, figure: newLogins)]
                    + (try await figures(&run, kinds: others.filter(kinds.contains), connections, name))
            }
            for (kind, figure) in measured where kinds.contains(kind) {
                if kind.isExchange { exchange.figures.append(figure) } else { refresh.figures.append(figure) }
            }
        }
        for section in [exchange, refresh] where !section.figures.isEmpty { add(section) }
    }

    mutating func scale(_ sizes: [Int], connections: Int) async throws {
        let run = ScaleRun(
            cluster: cluster, directory: directory, template: template, options: options, connections: connections)
        add(try await run.section(sizes: sizes))
    }

    mutating func add(_ section: Section) { report.sections.append(section) }

    private func figures(
        _ run: inout RequestRun, kinds: [RequestKind], _ connections: [Int], _ name: String
    ) async throws -> [(kind: RequestKind, figure: Figure)] {
        var figures = kinds.flatMap { kind in
            connections.map { (kind: kind, connections: $0, figure: run.figure(kind, connections: $0)) }
        }
        for round in 1...options.rounds {
            say("requests: \(name), round \(round)")
            for index in figures.indices {
                try await run.round(
                    figures[index].kind, connections: figures[index].connections, seconds: options.seconds,
                    into: &figures[index].figure)
            }
        }
        return figures.map { ($0.kind, $0.figure) }
    }

    func installation(_ algorithms: Algorithms = Algorithms()) async throws -> MeasuredInstallation {
        try await MeasuredInstallation(algorithms, template: template, on: cluster, in: directory)
    }
}

/// Tells a person how far the run is.
func say(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
}
