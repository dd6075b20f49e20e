import BrokerTesting
import Foundation
import PrivateCluster
import Synchronization
import BrokerHarness
import Testing

/// The database's disk fills up while apps exchange and refresh, and is freed later. Apps are told to come again, no
/// acknowledged write is lost, and the broker recovers alone.
@Suite(
    .serialized, .enabled(if: SmallDisk.isPossible, "nobody lets us mount a file system here"), .timeLimit(.minutes(5)))
struct FullDiskTests {
    /// What lies on the small disk.
    enum Part: String, CaseIterable, Sendable {
        /// The tables: what would make one longer fails, and the server lives.
        case data
        /// The write-ahead log: the server stops at once. It stays down until an operator frees space and starts it.
        case log
    }

    private static let apps = 8

    @Test(arguments: Part.allCases) func nothingAcknowledgedIsLost(part: Part) async throws {
        let disk = try SmallDisk(mebibytes: part == .data ? 160 : 48)
        let cluster = try await Self.cluster(part, on: disk)
        defer { try? FileManager.default.removeItem(atPath: cluster.directory) }
        let fixture = try await AppFixture(on: cluster)
        let broker = try await fixture.startBroker()
        let wire = Wire(ledger: Ledger(), brokers: [broker])
        let (ledger, crowd) = (wire.ledger, Crowd())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.apps { group.addTask { try await crowd.live(fixture.logins(), wire) } }
            _ = try await eventually("exchanges and refreshes") { ledger.acknowledged > 100 ? true : nil }

            try disk.fill()
            let filledAt = ledger.now
            _ = try await eventually("an outage", within: .seconds(120)) {
                // The log moves on by whole files, as it would under more load.
                if part == .log { _ = try? await cluster.psql("SELECT pg_switch_wal();", within: .seconds(5)) }
                return ledger.entries.count { $0.outcome == .unavailable && $0.sentAt > filledAt } > 50 ? true : nil
            }
            if part == .log { #expect(try await broker.readiness() == 503) }

            try disk.free()
            if part == .log { try await cluster.restart() }
            try await broker.untilReady()
            let acknowledged = ledger.acknowledged
            _ = try await eventually("exchanges and refreshes again") {
                ledger.acknowledged > acknowledged + 100 ? true : nil
            }
            crowd.end()
            try await group.waitForAll()
        }
        #expect(broker.process.isRunning)
        let violations = LedgerChecker()
            .violations(in: ledger.entries, try await fixture.finalState(of: ledger.entries))
        #expect(violations.isEmpty, "\(violations)")
        await broker.process.terminate()
        try await cluster.stop()
    }

    /// A server with one part of its files on the small disk, and the others on the ordinary one.
    private static func cluster(_ part: Part, on disk: SmallDisk) async throws -> PrivateCluster {
        var options = ClusterOptions()
        options.settings = ["min_wal_size": "32MB", "max_wal_size": "32MB", "shared_buffers": "16MB"]
        let ordinary = FileManager.default.temporaryDirectory.appending(path: "full-disk-\(Unguessable.make())").path
        let home = part == .data ? "\(disk.directory)/cluster" : ordinary
        let cluster = try await PrivateCluster.start(directory: home, options: options)
        try await cluster.stop()
        let other = part == .data ? ordinary : "\(disk.directory)/log"
        let log = "\(home)/data/pg_wal"
        // With their owner and modes.
        for command in [["cp", "-a", log, other], ["rm", "-r", log], ["ln", "-s", other, log]] {
            _ = try await ManagedProcess.output(of: "/usr/bin/env", command)
        }
        return try await PrivateCluster.start(directory: home, options: options)
    }
}

/// Apps that send the same again, for as long as it takes, until it is granted; and then the next.
private final class Crowd: Sendable {
    private static let refreshes = 3
    private let isOver = Mutex(false)

    func end() { isOver.withLock { $0 = true } }

    func live(_ logins: LoginFactory, _ wire: Wire) async throws {
        while !isOver.withLock({ $0 }) {
            let login = logins.login()
            var token = try await granted(.exchange, try logins.exchange(login), login, logins.target, wire)
            for _ in 0..<Self.refreshes {
                token = try await granted(.refresh(token), logins.refresh(token.text), login, logins.target, wire)
            }
        }
    }

    private func granted(
        _ act: LedgerEntry.Act, _ form: TokenForm, _ login: Login, _ app: String, _ wire: Wire
    ) async throws -> RefreshToken {
        try await eventually("a grant", within: .seconds(200), every: .milliseconds(50)) {
            let answer = await wire.send(act, form, session: login.sid, app: app, to: 0)
            return if case .outcome(.granted(let token)) = answer { token } else { nil }
        }
    }
}
