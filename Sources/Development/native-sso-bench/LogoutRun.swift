import BrokerHarness
import ChildProcesses
import Foundation
import StrictCoding

/// A user with very many sessions is logged out, while others go on exchanging.
///
/// Each round has a user of its own. Their rows lie between each other, so that each user's are on all pages; a checkpoint before
/// each round makes the logout bring all of them into the log.
struct LogoutRun {
    let installation: MeasuredInstallation
    let options: LoadOptions
    let logout: LogoutOptions

    private static let connections = 16
    private static let logins = 1000
    /// Sessions of the user that are asked for all the while.
    private static let watched = 16

    func section() async throws -> Section {
        say("logout: making \(options.rounds) users of \(logout.sessions) sessions")
        try await fill()
        let logins = try await SignedLogins.make(
            (0..<Self.logins).map { _ in Login.new() }, key: installation.key, at: Int64(time(nil)))
        let figures = try await withOwnEventLoop { loop in
            try await installation.base.withBroker { first in
                try await installation.base.withBroker("second") { second in
                    try await measured(
                        Fixture(
                            first: first, second: second,
                            peer: Peer(eventLoop: loop, port: first.publicPort, tls: nil), logins: logins))
                }
            }
        }
        return Section(
            "logout",
            facts: [
                ("sessions", .integer(logout.sessions)), ("requests_per_second", .integer(logout.rate)),
                ("connections", .integer(Self.connections)),
            ], figures: figures)
    }

    private struct Fixture {
        /// Has the load, and hears of the logout.
        let first: Broker
        let second: Broker
        let peer: Peer
        let logins: SignedLogins
    }

    private func measured(_ fixture: Fixture) async throws -> [Figure] {
        var (before, meanwhile) = (Figure(["load": .string("before")]), Figure(["load": .string("meanwhile")]))
        var workload = Exchanges(fixture.logins, apps: [SampleApps.targets[0]], range: 0..<Int.max)
        var warmUp = Figure([:])
        _ = try await load(&workload, fixture, until: LoadEnd(after: 2), &warmUp)
        before.adoptFailures(of: warmUp)
        for round in 0..<options.rounds {
            say("logout: round \(round + 1)")
            let user = try await UserSessions(round, of: options.rounds, logout, key: installation.key)
            try await installation.cluster.sql("CHECKPOINT;")
            let alone = try await load(&workload, fixture, until: LoadEnd(after: options.seconds), &before)
            before.add(alone)
            meanwhile.add(try await end(user, &workload, fixture, alone, &meanwhile))
            try check(user, fixture, &meanwhile)
        }
        return [before, meanwhile]
    }

    /// The logout, under load.
    private func end(
        _ user: UserSessions, _ workload: inout Exchanges, _ fixture: Fixture, _ alone: [Metric: Double],
        _ figure: inout Figure
    ) async throws -> [Metric: Double] {
        let (request, until) = (user.logout, LoadEnd())
        let (internalPort, otherPort) = (fixture.first.internalPort, fixture.second.publicPort)
        let start = ProcessClock.monotonic
        async let answer = onOwnThread {
            defer { until.now() }
            let answer = try Connection(port: internalPort).answer(to: request, within: 120)
            return (status: answer.status, at: ProcessClock.monotonic)
        }
        let watched = user.requests.suffix(Self.watched)
        async let lastDead = onOwnThread { try Self.untilRefused(Array(watched.reversed()), port: otherPort) }
        var round = try await load(&workload, fixture, until: until, &figure)
        let (status, answered) = try await answer
        guard status == 200 else { throw ManagedProcess.Failure(description: "the logout was answered with \(status)") }
        round[.logoutAnswered] = Double(answered - start) / 1e6
        round[.lastDead] = Double(try await lastDead - start) / 1e6
        for (metric, ratio) in [(Metric.p50, Metric.p50Ratio), (.p99, .p99Ratio)] {
            round[ratio] = (round[metric] ?? 0) / max(alone[metric] ?? 0, 1e-6)
        }
        return round
    }

    /// Asks for each session until it is refused, the last in the order of the rows first; when that was.
    private static func untilRefused(_ requests: [[UInt8]], port: UInt16) throws -> Int64 {
        let connection = try Connection(port: port)
        let deadline = ProcessClock.monotonic + 120_000_000_000
        for request in requests {
            while try connection.answer(to: request).status != 400 {
                guard ProcessClock.monotonic < deadline else {
                    throw ManagedProcess.Failure(
                        description: "a session lives on two minutes after the logout of its user")
                }
                usleep(10_000)  // an app that asks now and then, and no load
            }
        }
        return ProcessClock.monotonic
    }

    /// Neither broker takes a session of the user any more.
    private func check(_ user: UserSessions, _ fixture: Fixture, _ figure: inout Figure) throws {
        for broker in [fixture.first, fixture.second] {
            let connection = try Connection(port: broker.publicPort)
            for request in user.requests {
                let (status, body) = try connection.answer(to: request)
                let isRefused = status == 400 && body.elementsEqual(AnswerContract.unusableBody.utf8)
                figure.count("refused_afterwards", isRefused ? 1 : 0)
                guard !isRefused else { continue }
                figure.count("wrong_answers", 1)
                figure.firstWrongAnswer = "\(status) \(String(decoding: body.prefix(200), as: UTF8.self))"
            }
        }
    }

    private func load(
        _ workload: inout Exchanges, _ fixture: Fixture, until end: LoadEnd, _ figure: inout Figure
    ) async throws -> [Metric: Double] {
        let server = installation.cluster.processes
        let before = try Usage(broker: fixture.first.pid, server: server)
        let (after, result) = try await SteadyLoad.run(
            workload, fixture.peer, connections: Self.connections, perSecond: logout.rate, until: end)
        let usage = try Usage(broker: fixture.first.pid, server: server)
        workload = after
        figure.count(result)
        let latencies = Latencies(microseconds: result.latencies)
        let time = Double(max(1, usage.instant - before.instant))
        return [
            .perSecond: Double(result.requests) / max(result.seconds, 1e-9),
            .p50: latencies.milliseconds(at: 0.5), .p99: latencies.milliseconds(at: 0.99),
            .worst: latencies.milliseconds(at: 1),
            .brokerProcessors: Double(usage.broker - before.broker) / time,
            .postgresqlProcessors: Double(usage.postgresql - before.postgresql) / time,
            .elsewhere: usage.elsewhere(since: before),
        ]
    }

    private func fill() async throws {
        let cluster = installation.cluster
        for first in stride(from: 0, to: logout.sessions * options.rounds, by: 1_000_000) {
            try await Population.insert(
                first..<min(first + 1_000_000, logout.sessions * options.rounds),
                subject: UserSessions.subject(sql: "n", of: options.rounds), idle: "1 day",
                database: installation.database, on: cluster)
        }
        try await cluster.sql("VACUUM ANALYZE;", database: installation.database)
    }
}
