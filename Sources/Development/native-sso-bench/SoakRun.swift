import BrokerHarness
import BrokerTesting
import ChildProcesses
import Foundation
import StrictCoding

/// A steady load on one broker for hours, and what grows meanwhile. Each second a login comes, one ends, and one of 100 days ago is
/// swept.
struct SoakRun {
    let installation: MeasuredInstallation
    let soak: SoakOptions

    /// Of each of the two loads.
    private static let connections = 16
    /// In seconds; shorter in a short run.
    private static let longestInterval = 60.0
    /// In seconds, from a login to its end; shorter in a short run.
    private static let longestLife = 60.0
    /// Seconds for which growth is judged.
    private static let judged = 1800.0
    private static let residentLimit = 1.0
    private static let tableLimit = 1.2

    /// - Returns: The figures, and what grew too much.
    func section() async throws -> (Section, growth: String?) {
        let now = Int64(time(nil))
        let logins = try await SignedLogins.make(
            (0..<soak.logins).map { _ in Login.new() }, key: installation.key, at: now)
        let comingLogins = (0...Int(soak.seconds)).map { _ in Login.new() }
        let newLogins = try await SignedLogins.make(comingLogins, key: installation.key, at: now)
        return try await installation.base.withBroker { try await run($0, logins, newLogins, comingLogins) }
    }

    private func run(
        _ broker: Broker, _ logins: SignedLogins, _ newLogins: SignedLogins, _ comingLogins: [Login]
    ) async throws -> (Section, growth: String?) {
        let apps = SampleApps.targets
        let families = TokenFamilies(count: logins.count)
        var figure = Figure(["load": .string("steady")])
        say("soak: bringing in \(logins.count) logins")
        let probe = try await RequestProbe(installation, broker)
        for (app, families) in [(apps[0], families), (apps[1], nil)] {
            var workload = Exchanges(logins, apps: [app], range: 0..<logins.count, families: families)
            var warmUp = Figure([:])
            _ = try await probe.measure(&workload, connections: Self.connections, into: &warmUp)
            figure.adoptFailures(of: warmUp)
        }
        let half = LoadGenerator(port: broker.publicPort, connections: Self.connections, perSecond: soak.rate / 2)
        let single = LoadGenerator(port: broker.publicPort, connections: 1, perSecond: 1)
        let (key, seconds) = (installation.key, soak.seconds)
        async let exchanges = Self.load(
            half, Exchanges(logins, apps: [apps[1]], range: 0..<Int.max), seconds: seconds)
        async let refreshes = Self.load(half, Refreshes(families, app: apps[0]), seconds: seconds)
        async let arrivals = Self.load(
            single, Exchanges(newLogins, apps: [apps[0]], range: 0..<newLogins.count), seconds: seconds)
        async let ended = Self.endLogins(comingLogins, key, at: broker, seconds: seconds)
        let samples: [Sample]
        do {
            samples = try await sampled(broker)
        } catch {
            // The loads end with it.
            broker.process.kill()
            throw error
        }
        let results = [try await exchanges, try await refreshes, try await arrivals]
        for result in results { figure.count(result) }
        figure.count("sessions_ended", try await ended)
        let latencies = Latencies(microseconds: results.flatMap(\.latencies))
        let growth = Growth(samples)
        figure.add([
            .perSecond: Double(figure.count("requests")) / soak.seconds, .p50: latencies.milliseconds(at: 0.5),
            .p99: latencies.milliseconds(at: 0.99), .residentKiB: Double(samples.last?.resident ?? 0),
            .residentGrowth: growth.resident, .tableGrowth: growth.tables,
        ])
        return (section(samples, figure), judgement(growth))
    }

    private static func load(
        _ generator: LoadGenerator, _ workload: some Workload & Sendable, seconds: Double
    ) async throws -> LoadResult {
        try await onOwnThread {
            var workload = workload
            return try generator.run(&workload, seconds: seconds)
        }
    }

    /// Ends each new login by a logout token.
    /// - Returns: How many.
    private static func endLogins(
        _ logins: [Login], _ key: TestKey, at broker: Broker, seconds: Double
    ) async throws -> Int {
        let (start, life) = (ContinuousClock.now, min(longestLife, seconds / 4))
        for (number, login) in logins.enumerated() {
            let age = life + Double(number)
            guard age < seconds else { return number }
            try await Task.sleep(until: start + .seconds(age), clock: .continuous)
            let token = LogoutToken(
                issuer: SampleApps.issuer, audience: SampleApps.source, sid: login.sid, key: key)
            let answer = try await broker.logout(token)
            guard answer.status == 200 else { throw ManagedProcess.Failure(description: "a logout: \(answer.text)") }
        }
        return logins.count
    }

    /// Puts sessions that ended long ago into the tables, and sweeps them.
    private func sweep(_ count: Int) async throws {
        let sql = Self.oldSessions.replacing("COUNT", with: String(count))
        _ = try await installation.cluster.sql(sql, database: installation.database)
        try await installation.base.command("sweep", "--execute", "--reason", "soak")
        let left = try await installation.cluster.sql(Self.countOld, database: installation.database)
        guard left.trimmingCharacters(in: .whitespacesAndNewlines) == "0" else {
            throw ManagedProcess.Failure(description: "\(left) sessions were not swept")
        }
    }

    /// As a superuser: the triggers forbid such rows.
    private static let oldSessions = """
        BEGIN;
        SET LOCAL session_replication_role = replica;
        WITH old AS (
            SELECT (lpad(to_hex((extract(epoch FROM now() - interval '100 days') * 1000)::bigint + i), 12, '0') || '7'
                || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid AS id
            FROM generate_series(1, COUNT) AS i
        ), sessions AS (
            INSERT INTO native_sso.session (session_id, issuer, sid, idp_issuer, idp_sid, subject, device_digest,
                source_client_id, created_at, expires_at, last_used_at, ended_at, end_reason)
            SELECT id, '\(SampleApps.issuer)', sha256(id::text::bytea), '\(SampleApps.issuer)', sha256(id::text::bytea), 'old',
                sha256(id::text::bytea), '\(SampleApps.source)', now() - interval '100 days', now() - interval '99 days',
                now() - interval '99 days', now() - interval '99 days', 'logout'
            FROM old
        )
        INSERT INTO native_sso.sso_grant (grant_id, session_id, client_id, source_client_id, device_digest, generation,
            rotated_at, scope, audiences, amr, created_at, expires_at)
        SELECT id, id, '\(SampleApps.targets[0])', '\(SampleApps.source)', sha256(id::text::bytea), 1,
            now() - interval '100 days', '{openid}', '{a}', '{}', now() - interval '100 days', now() - interval '99 days'
        FROM old;
        COMMIT;
        """
    private static let countOld =
        "SELECT count(*) FROM native_sso.session WHERE created_at < now() - interval '90 days';"

    /// From the begin of the load to its end.
    private func sampled(_ broker: Broker) async throws -> [Sample] {
        let start = ProcessClock.monotonic
        let interval = min(Self.longestInterval, soak.seconds / 8)
        let clock = ContinuousClock.now
        var samples: [Sample] = []
        for number in 0...Int(soak.seconds / interval) {
            try await Task.sleep(until: clock + .seconds(Double(number) * interval), clock: .continuous)
            try await sweep(max(Int(interval), 1))
            let sample = try await Sample(broker, installation, since: start)
            samples.append(sample)
            if number.isMultiple(of: 10) {
                say(
                    "soak: \(Int(sample.at)) s, \(sample.resident) KiB resident, \(sample.descriptors) descriptors")
            }
        }
        return samples
    }

    private func section(_ samples: [Sample], _ figure: Figure) -> Section {
        func numbers(_ value: KeyPath<Sample, Int64>) -> JSONValue {
            .array(samples.map { .integer($0[keyPath: value]) })
        }
        return Section(
            "soak",
            facts: [
                ("seconds", .integer(Int(soak.seconds))), ("logins", .integer(soak.logins)),
                ("sampled_at_s", .array(samples.map { .integer(Int($0.at)) })), ("resident_kib", numbers(\.resident)),
                ("descriptors", numbers(\.descriptors)), ("table_octets", numbers(\.octets)),
                ("rows", numbers(\.rows)), ("wal_octets", numbers(\.log)),
            ], figures: [figure])
    }

    private func judgement(_ growth: Growth) -> String? {
        guard soak.seconds >= Self.judged else { return nil }
        var sentences: [String] = []
        if growth.resident >= Self.residentLimit {
            sentences.append("resident memory grew by \(growth.resident.rounded(to: 2)) MiB an hour")
        }
        if growth.tables >= Self.tableLimit {
            sentences.append("sessions and grants grew to \(growth.tables.rounded(to: 2)) times the octets per row")
        }
        if growth.descriptors > 0 { sentences.append("\(growth.descriptors) descriptors more at the end") }
        return sentences.isEmpty ? nil : sentences.joined(separator: "; ")
    }
}

/// What one moment of a soak shows.
private struct Sample {
    /// Seconds since the load began.
    let at: Double
    /// In KiB.
    let resident: Int64
    let descriptors: Int64
    /// Of the tables of sessions and grants, with their indexes.
    let octets: Int64
    let rows: Int64
    /// Octets of write-ahead log since the cluster was made.
    let log: Int64

    init(_ broker: Broker, _ installation: MeasuredInstallation, since start: Int64) async throws {
        at = Double(ProcessClock.monotonic - start) / 1e9
        resident = try ProcessStatus.kibibytes("VmRSS", of: broker.pid)
        descriptors = Int64(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(broker.pid)/fd").count)
        let text = try await installation.cluster.sql(Self.statement, database: installation.database)
        let numbers = text.split(separator: "|").compactMap { Int64($0) }
        guard numbers.count == 2 else { throw ManagedProcess.Failure(description: "sizes of tables: \(text)") }
        (octets, rows) = (numbers[0], numbers[1])
        log = try await installation.cluster.walPosition()
    }

    private static let statement = """
        SELECT concat_ws('|',
            pg_total_relation_size('native_sso.session') + pg_total_relation_size('native_sso.sso_grant'),
            (SELECT count(*) FROM native_sso.session) + (SELECT count(*) FROM native_sso.sso_grant));
        """
}

/// What the samples say together.
private struct Growth {
    /// MiB an hour: the regression line through the second half.
    let resident: Double
    /// Octets per row, the last to that after the first quarter.
    let tables: Double
    /// Between the same two samples.
    let descriptors: Int64

    init(_ samples: [Sample]) {
        let half = samples.suffix((samples.count + 1) / 2)
        let meanTime = half.map(\.at).reduce(0, +) / Double(max(half.count, 1))
        let meanSize = half.map { Double($0.resident) }.reduce(0, +) / Double(max(half.count, 1))
        let spread = half.map { ($0.at - meanTime) * ($0.at - meanTime) }.reduce(0, +)
        let slope = half.map { ($0.at - meanTime) * (Double($0.resident) - meanSize) }.reduce(0, +)
        resident = slope / max(spread, 1e-9) * 3600 / 1024
        let first = samples.dropFirst(samples.count / 4).first
        func each(_ sample: Sample?) -> Double { Double(sample?.octets ?? 0) / Double(max(sample?.rows ?? 0, 1)) }
        tables = each(samples.last) / max(each(first), 1e-9)
        descriptors = (samples.last?.descriptors ?? 0) - (first?.descriptors ?? 0)
    }
}
