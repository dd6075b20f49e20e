import BrokerHarness
import BrokerTesting
import Synchronization
import Testing

/// Patroni 3.0.2 gives the leader key back to a node that reads an etcd without its peers, and so loses what another primary
/// has acknowledged. The brokers answer 503 until an operator accepts the database. Run by `deploy/cluster --lost-writes`.
@Suite(.enabled(if: Cluster.isGiven, "deploy/cluster --lost-writes runs this"), .timeLimit(.minutes(15)))
struct LostWritesTests {
    @Test func brokersAnswerOutagesUntilTheDatabaseIsAccepted() async throws {
        let cluster = try Cluster()
        let apps = try await AppFixture(primary: { cluster.server }) { try await Installation($0, on: cluster.server) }
        let run = try await LedgerRun(.chosen, apps)
        let (brokers, ledger) = (run.wire.brokers, run.ledger)
        let refusing = Mutex((from: Duration.zero, until: Duration.zero))
        _ = try await run.execute {
            try await run.untilAnswered(200)
            try await cluster.control("cut")
            try await cluster.until("another-leader")
            // These writes are lost.
            try await run.untilAnswered(200)
            try await cluster.control("strand-etcd")
            try await cluster.control("join")
            try await cluster.until("old-leader")
            for broker in brokers {
                _ = try await eventually("database_went_backwards in /readyz", within: .seconds(60)) {
                    let answer = try await broker.get("/readyz")
                    return answer.status == 503 && answer.text.contains("database_went_backwards") ? true : nil
                }
            }
            let from = ledger.now
            try await cluster.control("free-etcd")
            // All nodes follow the old leader, and the apps go on asking.
            try await cluster.control("ready")
            let asked = ledger.entries.count
            _ = try await eventually("200 more requests") { ledger.entries.count > asked + 200 ? true : nil }
            refusing.withLock { $0 = (from, ledger.now) }
            try await apps.installation.command(
                "database", "accept", "--sessions", "end", "--reason", "Patroni lost writes", "--execute")
            for broker in brokers { try await broker.untilReady() }
        }
        await run.stop()

        let (from, until) = refusing.withLock { $0 }
        let before = ledger.entries.filter { $0.answeredAt < until }
        let meanwhile = before.filter { $0.broker != nil && $0.sentAt > from }
        #expect(meanwhile.allSatisfy { $0.outcome == .unavailable || $0.isAbandoned })
        let checker = LedgerChecker()
        let violations = checker.violations(in: before, try await apps.finalState(of: before))
        #expect(violations.contains { if case .rotationLost = $0 { true } else { false } }, "nothing was lost")
        for violation in violations {
            guard case .honestAppRefused = violation else { continue }
            Issue.record("\(violation), audit: \(try await apps.audit(of: violation) ?? "nothing")")
        }
    }
}
