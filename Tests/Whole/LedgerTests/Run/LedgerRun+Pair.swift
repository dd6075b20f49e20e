import BrokerHarness
import BrokerTesting
import Glibc
import PrivateCluster
import Synchronization

extension LedgerRun {
    /// Kills the primary and promotes the standby repeatedly: at any moment, or right after the acknowledged end of a
    /// session. Kills brokers meanwhile, sometimes at the same time.
    func failOver(_ pair: ReplicatedPair) async throws {
        let (isOver, isBrokerDue) = (Flag(), Flag())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in try await killBrokers(until: isOver, isBrokerDue) }
            group.addTask { [self] in
                defer { isOver.isSet = true }
                var random = random
                for round in 0..<options.failovers {
                    try await untilAnswered(Int.random(in: 100...300, using: &random))
                    if round % 2 == 1 {
                        let ends = sessionsEnded
                        _ = try await eventually("the end of a session", within: .seconds(120)) {
                            sessionsEnded > ends ? true : nil
                        }
                    }
                    try await pair.killPrimary()
                    let killedAt = ledger.now
                    if round % 3 == 2 { isBrokerDue.isSet = true }
                    try await pair.promoteStandby()
                    let promotedAt = ledger.now
                    try await pair.rejoin()
                    record(.init(killedAt: killedAt, promotedAt: promotedAt, rejoinedAt: ledger.now))
                }
                try await untilAnswered(200)
            }
            try await group.waitForAll()
        }
    }

    /// Kills brokers (SIGKILL) and starts them again.
    private func killBrokers(until isOver: Flag, _ isDue: Flag) async throws {
        var random = random
        while !isOver.isSet {
            let goal = ledger.acknowledged + Int.random(in: 150...400, using: &random)
            _ = try await eventually("more answers, before a broker is killed", within: .seconds(120)) {
                isDue.isSet || isOver.isSet || ledger.acknowledged >= goal ? true : nil
            }
            isDue.isSet = false
            try await restart(Int.random(in: wire.brokers.indices, using: &random), by: SIGKILL)
        }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }
}
