import BrokerHarness
import BrokerTesting
import Foundation
import StrictCoding

/// What an exchange costs with few and with many sessions in the registry: a database and a broker for each size, loaded in
/// turn in the same rounds.
///
/// The logins of a round are spread evenly over all sessions, and were last used a day ago. Each kind is measured twice: right
/// after a checkpoint, and then with the logins of the rows beside, whose pages are in the log already. With `k` requests
/// between two checkpoints on `p` pages, `p / k * (1 - exp(-k / p))` of them are of the first sort, so that a registry under
/// load is somewhere between the two.
struct ScaleRun {
    private struct Fixture {
        let sessions: Int
        let probe: RequestProbe
        /// Those of block `b` are number `b * requests` and on; block `2 * i + 1` has the neighbours of block `2 * i`.
        let logins: SignedLogins
    }

    private enum Pages: String, CaseIterable {
        case firstChange = "first_change"
        case changedBefore = "changed_before"
    }

    private static let kinds = [RequestKind.newGrant, .repeated]
    private static let mostRequests = 10_000
    /// The block of logins that a round uses. The first round only warms up.
    private static func block(_ round: Int, _ kind: Int, _ pages: Int) -> Int {
        (round * kinds.count + kind) * Pages.allCases.count + pages
    }
    private var blocks: Int { Self.block(options.rounds + 1, 0, 0) }

    let cluster: BenchmarkCluster
    let directory: WorkingDirectory
    let template: String
    let options: LoadOptions
    let connections: Int

    func section(sizes: [Int]) async throws -> Section {
        var section = Section("scale")
        var fixtures: [Fixture] = []
        // What autovacuum writes while requests are measured would count as theirs.
        try await setAutovacuum(false)
        do {
            for size in sizes.sorted() {
                let (fixture, facts) = try await prepare(size)
                fixtures.append(fixture)
                section.facts.append(("registry_\(size)", facts))
            }
            section.figures = try await figures(of: fixtures)
        } catch {
            for fixture in fixtures { try? await fixture.probe.broker.stop() }
            throw error
        }
        for fixture in fixtures { try await fixture.probe.broker.stop() }
        try await setAutovacuum(true)
        return section
    }

    private func figures(of fixtures: [Fixture]) async throws -> [Figure] {
        var figures = Self.kinds.map { kind in
            Pages.allCases.map { pages in
                fixtures.map { fixture in
                    Figure([
                        "sessions": .integer(fixture.sessions), "kind": .string(kind.rawValue),
                        "pages": .string(pages.rawValue), "connections": .integer(connections),
                    ])
                }
            }
        }
        for round in 0...options.rounds {
            say(round == 0 ? "scale: warming up" : "scale: round \(round)")
            for (kindIndex, kind) in Self.kinds.enumerated() {
                // As autovacuum would do. Otherwise whoever reads the rows of the last round, such as the broker's minutely
                // count, would change their pages, and bring images that no request causes.
                for fixture in fixtures {
                    try await cluster.sql("VACUUM;", database: fixture.probe.installation.database)
                }
                try await cluster.sql("CHECKPOINT;")
                for pages in Pages.allCases.indices {
                    var fewest: [Metric: Double] = [:]
                    for (index, fixture) in fixtures.enumerated() {
                        var figure = figures[kindIndex][pages][index]
                        let block = Self.block(round, kindIndex, pages)
                        let values = try await measure(kind, block, fixture, into: &figure)
                        if index == 0 { fewest = values }
                        if round > 0 { figure.add(Self.compared(values, fewest)) }
                        figures[kindIndex][pages][index] = figure
                    }
                }
            }
        }
        return figures.flatMap { $0.flatMap { $0 } }
    }

    private func measure(
        _ kind: RequestKind, _ block: Int, _ fixture: Fixture, into figure: inout Figure
    ) async throws -> [Metric: Double] {
        let requests = requests(fixture.sessions)
        let first = (kind == .repeated ? 0 : fixture.logins.count) + block * requests
        var workload = Exchanges(fixture.logins, apps: SampleApps.targets, range: first..<first + requests)
        return try await fixture.probe.measure(&workload, connections: connections, seconds: 60, into: &figure)
    }

    private func requests(_ sessions: Int) -> Int { min(Self.mostRequests, sessions / blocks) }

    private static func compared(_ values: [Metric: Double], _ fewest: [Metric: Double]) -> [Metric: Double] {
        func sum(_ values: [Metric: Double]) -> Double { (values[.brokerCPU] ?? 0) + (values[.postgresqlCPU] ?? 0) }
        var values = values
        values[.cpuRatio] = sum(values) / sum(fewest)
        values[.postgresqlRatio] = (values[.postgresqlCPU] ?? 0) / (fewest[.postgresqlCPU] ?? 0)
        return values
    }

    /// A registry of so many sessions, with its broker.
    private func prepare(_ sessions: Int) async throws -> (Fixture, JSONValue) {
        say("scale: making \(sessions) sessions")
        let installation = try await MeasuredInstallation(Algorithms(), template: template, on: cluster, in: directory)
        let start = ProcessClock.monotonic
        try await setDurability(false)
        for first in stride(from: 0, to: sessions, by: 1_000_000) {
            try await Population.insert(
                first..<min(first + 1_000_000, sessions), database: installation.database, on: cluster)
        }
        try await cluster.sql("VACUUM ANALYZE;", database: installation.database)
        try await setDurability(true)
        try await cluster.sql("CHECKPOINT;")
        sync()  // what was written while nothing was flushed
        let seconds = Double(ProcessClock.monotonic - start) / 1e9
        let size = try await cluster.sql("SELECT pg_database_size('\(installation.database)') / 1048576;")
        say("scale: \(sessions) sessions took \(seconds.rounded(to: 0)) s")

        let broker = try await installation.base.startBroker().ready()
        let probe = try await RequestProbe(installation, broker)
        let logins = try await SignedLogins.make(
            numbers(sessions).map(Population.login), key: installation.key, at: Int64(time(nil)))
        try await acquaint(logins, probe, sessions)
        var facts = JSONObject()
        facts["sessions"] = .integer(sessions)
        facts["fill_seconds"] = .integer(Int(seconds.rounded()))
        facts["database_mib"] = .integer(Int(size) ?? 0)
        return (Fixture(sessions: sessions, probe: probe, logins: logins), .object(facts))
    }

    /// Block after block, each of rows all over the table, and of no row twice: even ones, and then those beside them.
    private func numbers(_ sessions: Int) -> [Int] {
        let requests = requests(sessions)
        var random = SeededRandom(seed: 1)
        let pairs = (0..<sessions / 2).shuffled(using: &random)
        return (0..<blocks / 2).flatMap { block -> [Int] in
            let even = pairs[block * requests..<(block + 1) * requests].map { 2 * $0 }
            return even + even.map { $0 + 1 }
        }
    }

    /// Every login is used once by a third app, and that was a day ago: its device is known then, whose digest only a broker
    /// can make.
    private func acquaint(_ logins: SignedLogins, _ probe: RequestProbe, _ sessions: Int) async throws {
        var workload = Exchanges(logins, apps: SampleApps.targets, range: 2 * logins.count..<3 * logins.count)
        var figure = Figure([:])
        _ = try await probe.measure(&workload, connections: connections, into: &figure)
        if let answer = figure.firstWrongAnswer {
            throw ManagedProcess.Failure(description: "a login is refused: \(answer)")
        }
        let database = probe.installation.database
        let count = try await cluster.sql("SELECT count(*) FROM native_sso.session;", database: database)
        guard count == String(sessions) else {
            throw ManagedProcess.Failure(description: "\(count) sessions of \(sessions): a login is not among them")
        }
        try await cluster.sql(
            """
            SET session_replication_role = replica;
            UPDATE native_sso.session SET last_used_at = now() - interval '1 day'
            WHERE last_used_at > now() - interval '1 hour';
            VACUUM ANALYZE;
            """, database: database)
    }

    private func setDurability(_ isOn: Bool) async throws {
        let change = isOn ? "RESET" : "SET"
        let value = isOn ? "" : " = off"
        try await cluster.sql(
            ["fsync", "full_page_writes", "synchronous_commit"].map { "ALTER SYSTEM \(change) \($0)\(value);\n" }
                .joined()
                + "SELECT pg_reload_conf();")
    }

    private func setAutovacuum(_ isOn: Bool) async throws {
        try await cluster.sql(
            "ALTER SYSTEM \(isOn ? "RESET autovacuum" : "SET autovacuum = off");\nSELECT pg_reload_conf();")
    }
}
