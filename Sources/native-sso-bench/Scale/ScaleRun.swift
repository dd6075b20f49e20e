import Foundation
import StrictCoding

/// What an exchange costs with few and with many sessions in the registry: a database and a broker for each size, loaded in
/// turn in the same rounds.
///
/// The logins of a round are spread evenly over all sessions, were last used a day ago, and come from a device that the
/// registry does not know: each exchange is the first of its login in this run, and also touches the session and inserts the
/// device.
struct ScaleRun {
    private struct Stage {
        let sessions: Int
        let probe: RequestProbe
        /// Those of round `r` and kind `k` are number `(r * kinds + k) * requests` and on.
        let logins: SignedLogins
    }

    private static let kinds = [RequestKind.newGrant, .repeated]
    private static let mostRequests = 10_000

    let cluster: BenchmarkCluster
    let workplace: Workplace
    let template: String
    let options: LoadOptions
    let connections: Int
    let progress: (String) -> Void

    func section(sizes: [Int]) async throws -> Section {
        var section = Section("scale")
        var stages: [Stage] = []
        do {
            for size in sizes.sorted() {
                let (stage, facts) = try await prepare(size)
                stages.append(stage)
                section.facts.append(("registry_\(size)", facts))
            }
            section.figures = try await figures(of: stages)
        } catch {
            for stage in stages { try? stage.probe.broker.stop() }
            throw error
        }
        for stage in stages { try stage.probe.broker.stop() }
        return section
    }

    private func figures(of stages: [Stage]) async throws -> [Figure] {
        var figures: [[Figure]] = stages.map { stage in
            Self.kinds.map { kind in
                Figure([
                    "sessions": .integer(stage.sessions), "kind": .string(kind.rawValue),
                    "connections": .integer(connections),
                ])
            }
        }
        for round in 0...options.rounds {
            progress(round == 0 ? "scale: warming up" : "scale: round \(round)")
            for (kindIndex, kind) in Self.kinds.enumerated() {
                var fewest: [Metric: Double] = [:]
                for (index, stage) in stages.enumerated() {
                    var figure = figures[index][kindIndex]
                    let values = try await measure(kind, round, kindIndex, stage, into: &figure)
                    if index == 0 { fewest = values }
                    if round > 0 { figure.add(Self.compared(values, fewest)) }
                    figures[index][kindIndex] = figure
                }
            }
        }
        return figures.flatMap { $0 }
    }

    private func measure(
        _ kind: RequestKind, _ round: Int, _ kindIndex: Int, _ stage: Stage, into figure: inout Figure
    ) async throws -> [Metric: Double] {
        let requests = requests(stage.sessions)
        let app = kind == .repeated ? 0 : 1
        let first = (round * Self.kinds.count + kindIndex) * requests
        var workload = Exchanges(
            stage.logins, apps: SampleApps.targets,
            range: app * stage.logins.count + first..<app * stage.logins.count + first + requests)
        return try await stage.probe.measure(
            &workload, connections: connections, LoadLimit(seconds: 60), into: &figure)
    }

    private func requests(_ sessions: Int) -> Int {
        min(Self.mostRequests, sessions / (Self.kinds.count * (options.rounds + 1)))
    }

    private static func compared(_ values: [Metric: Double], _ fewest: [Metric: Double]) -> [Metric: Double] {
        func sum(_ values: [Metric: Double]) -> Double { (values[.brokerCPU] ?? 0) + (values[.postgresqlCPU] ?? 0) }
        var values = values
        values[.latencyRatio] = (values[.p50] ?? 0) / (fewest[.p50] ?? 0)
        values[.cpuRatio] = sum(values) / sum(fewest)
        values[.postgresqlRatio] = (values[.postgresqlCPU] ?? 0) / (fewest[.postgresqlCPU] ?? 0)
        return values
    }

    /// A registry of so many sessions, with its broker.
    private func prepare(_ sessions: Int) async throws -> (Stage, JSONValue) {
        progress("scale: making \(sessions) sessions")
        let installation = try await Installation(Algorithms(), template: template, on: cluster, in: workplace)
        let start = ProcessClock.monotonic
        try await setDurability(false)
        for first in stride(from: 0, to: sessions, by: 1_000_000) {
            try await Population.insert(
                first..<min(first + 1_000_000, sessions), idle: "1 day", database: installation.database, on: cluster)
        }
        try await cluster.sql("VACUUM ANALYZE;", database: installation.database)
        try await setDurability(true)
        try await cluster.sql("CHECKPOINT;")
        sync()  // what was written while nothing was flushed
        let seconds = Double(ProcessClock.monotonic - start) / 1e9
        let size = try await cluster.sql("SELECT pg_database_size('\(installation.database)') / 1048576;")
        progress("scale: \(sessions) sessions took \(seconds.rounded(to: 0)) s")

        let broker = try RunningBroker(installation)
        let count = requests(sessions) * Self.kinds.count * (options.rounds + 1)
        // A step that has no factor in common with their number meets each session once, all over the table.
        let step = max(1, Int(Double(sessions) * 0.618_033_988_7)) | 1
        let numbers = (0..<count).map { $0 * Self.coprime(step, to: sessions) % sessions }
        let logins = try await SignedLogins.make(
            numbers.map(Population.login), key: installation.key, at: Int64(time(nil)))
        var facts = JSONObject()
        facts["sessions"] = .integer(sessions)
        facts["fill_seconds"] = .integer(Int(seconds.rounded()))
        facts["database_mib"] = .integer(Int(size) ?? 0)
        return (
            Stage(sessions: sessions, probe: try RequestProbe(installation, broker), logins: logins), .object(facts)
        )
    }

    private func setDurability(_ isOn: Bool) async throws {
        let change = isOn ? "RESET" : "SET"
        let value = isOn ? "" : " = off"
        try await cluster.sql(
            ["fsync", "full_page_writes", "synchronous_commit"].map { "ALTER SYSTEM \(change) \($0)\(value);\n" }
                .joined()
                + "SELECT pg_reload_conf();")
    }

    static func coprime(_ step: Int, to number: Int) -> Int {
        func divisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : divisor(b, a % b) }
        return (step...).first { divisor($0, number) == 1 } ?? 1
    }
}
