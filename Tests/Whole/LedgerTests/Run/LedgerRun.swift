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
    let apps: AppFixture
    let ledger = Ledger()
    let wire: Wire
    private let state = Mutex(State())

    private struct State {
        var isOver = false
        /// Sessions that an operator may end.
        var sessions: [String] = []
        /// Those that are being ended, or were.
        var taken: Set<String> = []
        var figures = LedgerFigures()
    }

    init(_ options: LedgerOptions, _ apps: AppFixture) async throws {
        self.options = options
        self.apps = apps
        let brokers = try await [apps.startBroker("first"), apps.startBroker("second")]
        wire = Wire(ledger: ledger, brokers: brokers)
    }

    /// Runs until this has broken and mended everything that it wants, settles, and gives what was measured.
    func execute(_ disturbance: @escaping @Sendable () async throws -> Void) async throws -> LedgerFigures {
        let users = (0..<options.users).map { AppUser(self, random: SeededRandom(seed: options.seed &+ UInt64($0))) }
        let survivors = try await withThrowingTaskGroup(of: AppUser?.self) { group in
            for user in users {
                group.addTask {
                    var user = user
                    try await user.live()
                    return user
                }
            }
            group.addTask { [self] in
                defer { state.withLock { $0.isOver = true } }
                try await disturbance()
                return nil
            }
            group.addTask { [self] in
                try await endSessions()
                return nil
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

    func stop() async {
        for broker in wire.brokers { await broker.process.terminate() }
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
    func untilAnswered(_ more: Int) async throws {
        let goal = ledger.acknowledged + more
        _ = try await eventually("\(more) more answers", within: .seconds(120)) {
            ledger.acknowledged >= goal || isOver ? true : nil
        }
    }

    var random: SeededRandom { SeededRandom(seed: options.seed ^ 0x6c65_6467_6572) }

    /// Stops or kills a broker and starts it again.
    /// - Parameters:
    ///   - untilReady: Waits until it serves; otherwise until it listens.
    ///   - program: Another release of it.
    func restart(_ index: Int, by signal: Int32, untilReady: Bool = false, as program: String? = nil) async throws {
        let (broker, from) = (wire.brokers[index], ledger.now)
        broker.process.signal(signal)
        _ = await broker.process.exitStatus
        try broker.restart(as: program)
        if untilReady { try await broker.untilReady() } else { try await broker.untilAlive() }
        let downtime = Downtime(broker: index, from: from, until: ledger.now)
        state.withLock { $0.figures.downtimes.append(downtime) }
    }

    func record(_ failover: LedgerFigures.Failover) { state.withLock { $0.figures.failovers.append(failover) } }

    var sessionsEnded: Int { state.withLock { $0.figures.sessionsEnded } }

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
            "session", "end", "--issuer", apps.logins().issuer, "--sid", session, "--reason", "ledger", "--execute",
        ]
        var mayHaveHappened = false
        while true {
            let sentAt = ledger.now
            let run = try await apps.installation.run(command)
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
