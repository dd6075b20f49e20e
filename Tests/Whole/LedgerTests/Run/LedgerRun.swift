import BrokerTesting
import Glibc
import PrivateCluster
import Synchronization
import BrokerHarness

/// One run: people who use the brokers, an operator who ends sessions, and everything that breaks meanwhile.
final class LedgerRun: Sendable {
    struct NoAnswer: Error {
        let session: String
    }

    let options: LedgerOptions
    let fixture: ReplicatedFixture
    let ledger = Ledger()
    let wire: Wire
    private let state = Mutex(State())

    private struct State {
        var isOver = false
        /// One is to be killed now.
        var isBrokerDue = false
        /// Sessions that an operator may end.
        var sessions: [String] = []
        /// Those that are being ended, or were.
        var taken: Set<String> = []
        var figures = LedgerFigures()
    }

    init(_ options: LedgerOptions) async throws {
        self.options = options
        fixture = try await ReplicatedFixture()
        let brokers = try await [fixture.startBroker("first"), fixture.startBroker("second")]
        wire = Wire(ledger: ledger, brokers: brokers)
    }

    /// Runs until all failovers have happened, settles, and gives what was measured.
    func execute() async throws -> LedgerFigures {
        let users = (0..<options.users).map { AppUser(self, random: SeededRandom(seed: options.seed &+ UInt64($0))) }
        let survivors = try await withThrowingTaskGroup(of: AppUser?.self) { group in
            for user in users {
                group.addTask {
                    var user = user
                    try await user.live()
                    return user
                }
            }
            for disturb in [failOver, endSessions, killBrokers] {
                group.addTask {
                    try await disturb()
                    return nil
                }
            }
            return try await group.reduce(into: [AppUser]()) { if let user = $1 { $0.append(user) } }
        }
        for broker in wire.brokers { try await broker.untilReady() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in survivors {
                group.addTask {
                    var user = user
                    try await user.settle()
                }
            }
            try await group.waitForAll()
        }
        return state.withLock { $0.figures }
    }

    func stop() async throws {
        for broker in wire.brokers { await broker.process.terminate() }
        try await fixture.pair.stop()
    }

    // MARK: What everybody knows

    var isOver: Bool { state.withLock { $0.isOver } }

    /// An app had a success in this session.
    func sawLive(_ session: String) {
        state.withLock { state in
            guard !state.taken.contains(session) else { return }
            // The latest few: an operator ends what is in use.
            state.sessions.removeAll { $0 == session }
            state.sessions.append(session)
            if state.sessions.count > 64 { state.sessions.removeFirst() }
        }
    }

    private func takeSession(_ random: inout SeededRandom) -> String? {
        let choice = random.next()
        return state.withLock { state in
            guard !state.sessions.isEmpty else { return nil }
            let session = state.sessions.remove(at: Int(choice % UInt64(state.sessions.count)))
            state.taken.insert(session)
            return session
        }
    }

    /// Waits until so many more requests were answered, or the run is over.
    private func untilAnswered(_ more: Int) async throws {
        let goal = ledger.acknowledged + more
        _ = try await eventually("\(more) more answers", within: .seconds(120)) {
            ledger.acknowledged >= goal || isOver ? true : nil
        }
    }

    private var random: SeededRandom { SeededRandom(seed: options.seed ^ 0x6c65_6467_6572) }

    // MARK: Disturbances

    /// Kills the primary and promotes the standby repeatedly: at any moment, or right after the acknowledged end of a
    /// session. Sometimes a broker is killed with it.
    private func failOver() async throws {
        defer { state.withLock { $0.isOver = true } }
        var random = random
        for round in 0..<options.failovers {
            try await untilAnswered(Int.random(in: 100...300, using: &random))
            if round % 2 == 1 {
                let ends = state.withLock { $0.figures.sessionsEnded }
                _ = try await eventually("the end of a session", within: .seconds(120)) {
                    state.withLock { $0.figures.sessionsEnded } > ends ? true : nil
                }
            }
            try await fixture.pair.killPrimary()
            let killedAt = ledger.now
            if round % 3 == 2 { state.withLock { $0.isBrokerDue = true } }
            try await fixture.pair.promoteStandby()
            let promotedAt = ledger.now
            try await fixture.pair.rejoin()
            let failover = LedgerFigures.Failover(killedAt: killedAt, promotedAt: promotedAt, rejoinedAt: ledger.now)
            state.withLock { $0.figures.failovers.append(failover) }
        }
        try await untilAnswered(200)
    }

    /// Kills brokers (SIGKILL) and starts them again.
    private func killBrokers() async throws {
        var random = random
        while !isOver {
            let goal = ledger.acknowledged + Int.random(in: 150...400, using: &random)
            _ = try await eventually("more answers, before a broker is killed", within: .seconds(120)) {
                state.withLock { $0.isBrokerDue || $0.isOver } || ledger.acknowledged >= goal ? true : nil
            }
            let index = Int.random(in: wire.brokers.indices, using: &random)
            let (broker, from) = (wire.brokers[index], ledger.now)
            broker.process.signal(SIGKILL)
            _ = await broker.process.exitStatus
            try broker.restart()
            try await broker.untilAlive()
            let downtime = Downtime(broker: index, from: from, until: ledger.now)
            state.withLock { state in
                state.isBrokerDue = false
                state.figures.downtimes.append(downtime)
            }
        }
    }

    /// Ends sessions with the command that an operator has for it.
    private func endSessions() async throws {
        var random = random
        while !isOver {
            try await untilAnswered(Int.random(in: 20...80, using: &random))
            if let session = takeSession(&random) { try await end(session) }
        }
    }

    private func end(_ session: String) async throws {
        let command = [
            "session", "end", "--issuer", fixture.logins().issuer, "--sid", session, "--reason", "ledger", "--execute",
        ]
        var mayHaveHappened = false
        while true {
            let sentAt = ledger.now
            let run = try await fixture.installation.run(command)
            let outcome: LedgerEntry.Outcome =
                switch run.status {
                case 0: .ended
                case 3: .unknown
                case 1 where mayHaveHappened: .unknown
                default: .unexpected("exit \(run.status): \(run.output)")
                }
            ledger.record(
                LedgerEntry(
                    session: session, app: "", act: .end, outcome: outcome, sentAt: sentAt, answeredAt: ledger.now))
            guard run.status == 3 else { break }
            mayHaveHappened = true
        }
        state.withLock { $0.figures.sessionsEnded += 1 }
    }
}
