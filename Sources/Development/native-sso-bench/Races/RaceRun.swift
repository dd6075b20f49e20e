import PostgresClient
import PrivateCluster
import Registry
import StrictCoding
import Synchronization

/// Random interleavings, each on one login. Each planted fault has its own database.
struct RaceRun {
    let cluster: BenchmarkCluster
    let template: String
    let races: RaceOptions

    func section() async throws -> Section {
        var section = Section(
            "races",
            facts: [
                ("seed", .integer(races.seed)), ("workers", .integer(races.workers)),
                ("connections", .integer(races.workers * RaceWorker.width)),
            ])
        for mutant in races.planted { section.figures.append(try await figure(mutant)) }
        return section
    }

    /// What the workers share.
    private final class Book: Sendable {
        struct Entries {
            var next: Int
            var played = 0
            var waits = 0
            var failures = 0
            var found: RaceWorld?
        }

        let entries: Mutex<Entries>
        init(first: Int) { entries = Mutex(Entries(next: first)) }
    }

    private func figure(_ mutant: RaceMutant?) async throws -> Figure {
        let database = "races_" + (mutant?.name.replacing("-", with: "_") ?? "none")
        try await cluster.server.createDatabase(database, template: template)
        // Lock waits in a circle shall end soon, and nothing here has to outlive a crash.
        var configuration = try PostgresConfiguration(
            uri: cluster.server.connectionURI(database: database),
            password: PostgresPassword(cluster.server.password)
        ).forHotCalls()
        configuration.sessionSettings.merge(["deadlock_timeout": "50ms", "synchronous_commit": "off"]) { $1 }
        configuration.poolSize = races.workers
        (configuration.callDeadline, configuration.queueWait) = (.seconds(60), .seconds(60))
        (configuration.lockTimeout, configuration.idleInTransactionTimeout) = (.seconds(20), .seconds(120))
        try await mutant?.plant(in: database, on: cluster)
        let observer = ConnectionPool(configuration)
        let start = ProcessClock.monotonic
        let book = Book(first: races.first)
        try await ending {
            try await play(configuration, observer, book)
        } with: {
            await observer.shutdown()
        }
        let entries = book.entries.withLock { $0 }
        var figure = Figure(["fault": .string(mutant?.name ?? "none")])
        figure.add([.perSecond: Double(entries.played) / (Double(ProcessClock.monotonic - start) / 1e9)])
        figure.count("interleavings", entries.played)
        figure.count("lock_waits", entries.waits)
        figure.count("undone_transactions", entries.failures)
        figure.count("violations", entries.found == nil ? 0 : 1)
        let isWrong = (entries.found == nil) == (mutant != nil)
        figure.count("wrong_answers", isWrong ? 1 : 0)
        let name = mutant?.name ?? "no fault"
        if let world = entries.found {
            let text = "\(world.violation ?? "") (--seed \(races.seed) --first \(world.number))"
            say("races: \(name), \(entries.played) interleavings: \(text)")
            if isWrong || races.planted.count == 1 { say("  " + world.history.joined(separator: "\n  ")) }
            if isWrong { figure.firstWrongAnswer = "\(text): \(world.history.joined(separator: "; "))" }
        } else {
            say("races: \(name), \(entries.played) interleavings: no violation")
        }
        return figure
    }

    private func play(_ configuration: PostgresConfiguration, _ observer: ConnectionPool, _ book: Book) async throws {
        let races = races
        try await withThrowingTaskGroup { group in
            for _ in 0..<races.workers {
                let worker = try await RaceWorker(configuration, observer: observer)
                group.addTask {
                    try await worker.work {
                        let number = book.entries.withLock { entries -> Int? in
                            let end = races.first + races.interleavings
                            guard entries.found == nil, entries.next < end else { return nil }
                            entries.next += 1
                            return entries.next - 1
                        }
                        return number.map { RaceWorld(number: $0, seed: races.seed) }
                    } finished: { world in
                        let played = book.entries.withLock { entries in
                            entries.played += 1
                            entries.waits += world.waits
                            entries.failures += world.failures
                            if world.violation != nil, entries.found == nil { entries.found = world }
                            return entries.played
                        }
                        if played.isMultiple(of: 10_000) { say("races: \(played) interleavings") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
