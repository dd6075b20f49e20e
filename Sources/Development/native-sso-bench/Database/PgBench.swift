import BrokerHarness
import Foundation
import PrivateCluster

/// PostgreSQL's own load generator: the reference for ours.
struct PgBench: Sendable {
    let programs: String
    let installation: MeasuredInstallation

    /// A line that it writes each second: `progress: 2.0 s, 10436.8 tps, lat 6.129 ms stddev 2.064, 0 failed`.
    struct Progress: Equatable {
        let seconds: Double
        let perSecond: Double

        init?(_ line: Substring) {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "," })
            guard words.count > 4, words[0] == "progress:", words[2] == "s", words[4] == "tps",
                let seconds = Double(words[1]), let perSecond = Double(words[3])
            else { return nil }
            self.seconds = seconds
            self.perSecond = perSecond
        }
    }

    /// What the broker's own connections have, too.
    private static let hotSettings = #"""
        -c search_path=native_sso,\ pg_temp -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off \#
        -c enable_material=off -c enable_memoize=off -c jit=off -c plan_cache_mode=force_generic_plan
        """#

    /// The first second warms up; what counts is between two of its lines.
    func measure(_ statement: HotStatement, _ block: PopulationBlock, seconds: Double) throws -> Window {
        let cluster = installation.cluster
        let script = "\(installation.base.directory.path)/\(statement.rawValue).sql"
        try statement.script.write(toFile: script, atomically: false, encoding: .utf8)
        let whole = max(1, Int(seconds.rounded()))
        var marks: [(usage: Usage, client: Int64, time: Double)] = []
        var operations = 0.0
        try Program.run(
            [
                "\(programs)/pgbench", "--no-vacuum", "--protocol=prepared", "--client=\(block.callers)", "--jobs=1",
                "--progress=1",
                "--time=\(whole + 3)", "--file=\(script)", "--define=i=-1", "--define=generation=0",
                "--define=first=\(block.first)", "--define=rows=\(PopulationBlock.rowsPerCaller)",
                "--host=127.0.0.1", "--port=\(cluster.server.port)", "--username=\(installation.base.serviceRole)",
                installation.database,
            ], environment: ["PGPASSWORD": cluster.server.password, "PGOPTIONS": Self.hotSettings],
            within: .seconds(whole + 3 + 60)
        ) { pid, line in
            guard let progress = Progress(line), marks.count <= whole, progress.seconds > marks.last?.time ?? 0 else {
                return
            }
            if let last = marks.last { operations += progress.perSecond * (progress.seconds - last.time) }
            let client = ProcessClock.nanoseconds(of: pid) ?? 0
            marks.append((try Usage(broker: pid, server: cluster.processes), client, progress.seconds))
        }
        guard let first = marks.first, let last = marks.last, marks.count > 1 else {
            throw ManagedProcess.Failure(description: "pgbench reported no progress")
        }
        return Window(
            operations: operations, seconds: last.time - first.time,
            client: last.client - first.client, server: last.usage.postgresql - first.usage.postgresql,
            elsewhere: last.usage.elsewhere(since: first.usage))
    }
}
