import BrokerHarness
import BrokerTesting
import Foundation
import PrivateCluster
import Synchronization
import Testing

/// The ledger's apps and two brokers on Patroni, etcd and HAProxy. Run by `deploy/cluster --once`.
@Suite(
    .serialized, .enabled(if: Cluster.isGiven, "deploy/cluster --once runs these"), .timeLimit(.minutes(15)))
struct HighAvailabilityTests {
    /// A fault, and the longest time without a success that the guide promises.
    enum Fault: String, CaseIterable {
        case primaryKilled = "PostgreSQL killed"
        case nodeCutOff = "primary's node cut off"
        case switchover = "switchover"
        case brokersRestarted = "brokers restarted one by one"
        case diskFull = "primary's disk full, freed later"
        case quorumLost = "two of three etcd lost, started later"

        /// In seconds. An etcd or a disk is back when its operator has repaired it: the time counts from there.
        func promise(isTuned: Bool) -> Int {
            // The leader key's time to live and the time between rounds, as `deploy/cluster` and its command `tune` set them.
            let (timeToLive, round) = isTuned ? (20, 1) : (30, 10)
            return switch self {
            case .primaryKilled: isTuned ? 5 : 15
            // A standby may see in its first round after it that it must wait for another.
            case .nodeCutOff: timeToLive + 2 * round + 5
            case .switchover, .diskFull: 15
            case .brokersRestarted: 5
            case .quorumLost: isTuned ? 5 : timeToLive + 15
            }
        }
    }

    /// A fault with Patroni's defaults, or with `loop_wait` 1, `ttl` 20, `primary_start_timeout` 0 and `failsafe_mode`.
    struct Round: Sendable {
        let fault: Fault
        let isTuned: Bool

        /// What `deploy/cluster` was told; otherwise each fault once, and once more tuned if the settings matter to it.
        static let chosen: [Round] = {
            let environment = ProcessInfo.processInfo.environment
            guard let name = environment["CLUSTER_FAULT"] else {
                let tuned: [Fault] = [.primaryKilled, .nodeCutOff, .switchover, .quorumLost]
                return Fault.allCases.map { Round(fault: $0, isTuned: false) }
                    + tuned.map { Round(fault: $0, isTuned: true) }
            }
            return (0..<(environment["CLUSTER_TIMES"].flatMap(Int.init) ?? 1)).flatMap { _ in
                Fault.allCases.filter { $0.rawValue.contains(name) }.map {
                    Round(fault: $0, isTuned: environment["CLUSTER_TUNED"] != nil)
                }
            }
        }()
    }

    private static let starting = Task { () -> (Cluster, AppFixture) in
        let cluster = try Cluster()
        let apps = try await AppFixture(primary: { cluster.server }) {
            try await Installation($0, on: cluster.server)
        }
        try cluster.tell(
            "| settings | fault | requests | acknowledged | lost | honest apps refused | longest gap, s | promised, s |"
        )
        try cluster.tell("|---|---|---|---|---|---|---|---|")
        return (cluster, apps)
    }

    @Test(arguments: Round.chosen) func nothingIsLost(in round: Round) async throws {
        let (cluster, apps) = try await Self.starting.value
        let fault = round.fault
        if round.isTuned { try await cluster.control("tune") }
        try await cluster.control("ready")
        let run = try await LedgerRun(.chosen, apps)
        let start = Mutex(Duration.zero)
        let figures = try await run.execute {
            try await run.untilAnswered(200)
            let moment = try await Self.make(fault, cluster, run)
            start.withLock { $0 = moment }
            try await run.untilGranted(since: moment)
            try await cluster.control("ready")
            try await run.untilAnswered(200)
        }
        await run.stop()
        let entries = run.ledger.entries
        let final = try await apps.finalState(of: entries)
        let broken = LedgerChecker(downtimes: figures.downtimes).violations(in: entries, final)
        for violation in broken {
            Issue.record("\(round): \(violation), audit: \(try await apps.audit(of: violation) ?? "nothing")")
        }
        let gap = Self.longestGap(in: entries, since: start.withLock { $0 })
        let refused = broken.count { if case .honestAppRefused = $0 { true } else { false } }
        let promise = fault.promise(isTuned: round.isTuned)
        try cluster.tell(
            "| \(round.isTuned ? "tuned" : "default") | \(fault.rawValue) | \(entries.count) "
                + "| \(entries.count(where: \.isAcknowledged)) | \(broken.count - refused) | \(refused) "
                + "| \(gap.rounded) | \(promise) |")
        #expect(gap <= .seconds(promise), "\(round)")
    }

    /// Breaks it and, if nothing else does, mends it. The moment from which the gap counts.
    private static func make(_ fault: Fault, _ cluster: Cluster, _ run: LedgerRun) async throws -> Duration {
        let brokenAt = run.ledger.now
        switch fault {
        case .primaryKilled: try await cluster.control("kill-primary")
        case .switchover: try await cluster.control("switch-over")
        case .brokersRestarted:
            for broker in run.wire.brokers.indices { try await run.restart(broker, by: SIGTERM, untilReady: true) }
        case .nodeCutOff:
            try await cluster.control("cut")
            try await run.untilGranted(since: brokenAt + .seconds(1))
            // It is back while the others go on: it must not answer again as the primary.
            try await cluster.until("another-leader")
            try await cluster.control("join")
        case .diskFull:
            try await cluster.control("fill")
            try await run.untilUnavailable(since: brokenAt, cluster)
            let freedAt = run.ledger.now
            try await cluster.control("free")
            return freedAt
        case .quorumLost:
            try await cluster.control("stop-etcd")
            // Longer than the leader key lives: what its loss does to the primary has happened.
            try await Task.sleep(for: .seconds(40))
            let mendedAt = run.ledger.now
            try await cluster.control("start-etcd")
            return mendedAt
        }
        return brokenAt
    }

    /// The longest time without a success, from a moment on.
    private static func longestGap(in entries: [LedgerEntry], since start: Duration) -> Duration {
        let successes = entries.filter { $0.granted != nil && $0.sentAt >= start }.map(\.answeredAt).sorted()
        return zip([start] + successes, successes).map { $1 - $0 }.max() ?? .seconds(9999)
    }
}

extension LedgerRun {
    fileprivate func untilGranted(since start: Duration) async throws {
        _ = try await eventually("a success", within: .seconds(120)) {
            ledger.entries.contains { $0.granted != nil && $0.sentAt > start } ? true : nil
        }
    }

    fileprivate func untilUnavailable(since start: Duration, _ cluster: Cluster) async throws {
        _ = try await eventually("an outage", within: .seconds(120)) {
            // The log moves on by whole files, as it would under more load.
            _ = try? await cluster.server.psql("SELECT pg_switch_wal();", within: .seconds(5))
            return ledger.entries.count { $0.outcome == .unavailable && $0.sentAt > start } > 20 ? true : nil
        }
    }
}
