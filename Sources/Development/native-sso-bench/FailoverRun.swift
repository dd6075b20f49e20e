import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Synchronization

/// Steady exchanges at one broker while the primary database is killed and its standby promoted.
struct FailoverRun {

    private static let callers = 32
    /// Between two requests of a caller.
    private static let pause = Duration.milliseconds(50)
    /// Seconds under load before the kill and after the first exchange that succeeds again.
    private static let lead = 5.0
    private static let step = 0.1
    private static let apps = (source: "app-source", target: "app-00")

    func section() async throws -> Section {
        say("failover: starting a primary and its synchronous standby")
        let key = try TestKey.shared(.es256)
        let logins = LoginFactory(
            issuer: SampleApps.issuer, key: key, source: Self.apps.source, target: Self.apps.target)
        var options = ClusterOptions()
        options.isEphemeral = true
        let pair = try await ReplicatedPair.start(options: options)
        return try await ending {
            let installation = try await Installation(
                BrokerConfiguration(
                    issuer: SampleApps.broker,
                    providers: [BrokerConfiguration.Provider(SampleApps.issuer, keys: .file([key]))]), on: pair)
            let sql = try installation.session()
            for app in [Self.apps.source, Self.apps.target] {
                try await sql.register(app, in: .init(group: SampleApps.group, issuer: SampleApps.issuer))
            }
            return try await installation.withBroker { try await failOver(pair, under: logins, at: $0.publicPort) }
        } with: {
            try await pair.stop()
        }
    }

    private func failOver(_ pair: ReplicatedPair, under logins: LoginFactory, at port: UInt16) async throws -> Section {
        let count = AnswerCount(step: Self.step)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.callers {
                let request = HTTPRequest.token(try logins.exchange(logins.login()).parameters)
                group.addTask {
                    while !count.isOver {
                        count.add(try await request.send(to: port))
                        try await Task.sleep(for: Self.pause)
                    }
                }
            }
            try await Task.sleep(for: .seconds(Self.lead))
            if let wrong = count.wrong.first { throw ManagedProcess.Failure(description: "wrong answer: \(wrong)") }
            say("failover: killing the primary")
            let killedAt = count.seconds
            try await pair.killPrimary()
            try await pair.promoteStandby()
            let promotedAt = count.seconds
            let grantedAt = try await eventually("an exchange after the failover") {
                count.grants.first { $0 > promotedAt }
            }
            try await Task.sleep(for: .seconds(Self.lead))
            count.end()
            try await group.waitForAll()
            return section(count, killedAt: killedAt, promotedAt: promotedAt, grantedAt: grantedAt)
        }
    }

    private func section(_ count: AnswerCount, killedAt: Double, promotedAt: Double, grantedAt: Double) -> Section {
        let steps = count.steps
        var figure = Figure(["killed": .string("primary")])
        figure.add([.promotedAfter: (promotedAt - killedAt) * 1000, .grantedAfter: (grantedAt - killedAt) * 1000])
        figure.count("unavailable", steps.reduce(0) { $0 + $1.unavailable })
        figure.count("wrong_answers", count.wrong.count)
        figure.firstWrongAnswer = count.wrong.first
        return Section(
            "failover",
            facts: [
                ("callers", .integer(Self.callers)), ("step_ms", .integer(Int(Self.step * 1000))),
                ("killed_at_ms", .integer(Int(killedAt * 1000))),
                ("granted", .array(steps.map { .integer($0.granted) })),
                ("unavailable", .array(steps.map { .integer($0.unavailable) })),
            ], figures: [figure])
    }
}

/// Answers by the time of their arrival.
private final class AnswerCount: Sendable {
    private struct State {
        var isOver = false
        var grants: [Double] = []
        var outages: [Double] = []
        var wrong: [String] = []
    }

    private let step: Double
    private let start = ProcessClock.monotonic
    private let state = Mutex(State())

    init(step: Double) { self.step = step }

    /// Since the start.
    var seconds: Double { Double(ProcessClock.monotonic - start) / 1e9 }
    var isOver: Bool { state.withLock { $0.isOver } }
    var grants: [Double] { state.withLock { $0.grants } }
    var wrong: [String] { state.withLock { $0.wrong } }

    func end() { state.withLock { $0.isOver = true } }

    func add(_ answer: HTTPAnswer) {
        let now = seconds
        state.withLock { state in
            switch answer.status {
            case 200: state.grants.append(now)
            case 503: state.outages.append(now)
            default: state.wrong.append("\(answer.status) \(answer.text.prefix(200))")
            }
        }
    }

    /// How many of each kind arrived in each step, but for the last, which is not complete.
    var steps: [(granted: Int, unavailable: Int)] {
        let (grants, outages) = state.withLock { ($0.grants, $0.outages) }
        let last = Int((grants + outages).max().map { $0 / step } ?? 0)
        var steps = [(granted: Int, unavailable: Int)](repeating: (0, 0), count: last + 1)
        for time in grants { steps[Int(time / step)].granted += 1 }
        for time in outages { steps[Int(time / step)].unavailable += 1 }
        return steps.dropLast()
    }
}
