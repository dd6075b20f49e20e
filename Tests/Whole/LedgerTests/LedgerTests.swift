import PrivateCluster
import Testing

/// Many apps, two brokers, a database whose primary is killed again and again: everything that was sent and answered is
/// written down, and nothing that was acknowledged may be untrue afterwards.
///
/// Short here; `LEDGER_FAILOVERS=200 swift test --filter LedgerTests` is the long form.
@Suite(.serialized) struct LedgerTests {
    @Test(.timeLimit(.minutes(LedgerOptions.chosen.minutes))) func nothingAcknowledgedIsLost() async throws {
        let options = LedgerOptions.chosen
        print("ledger: LEDGER_SEED=\(options.seed), \(options.failovers) failovers, \(options.users) users")
        let fixture = try await ReplicatedFixture()
        let run = try await LedgerRun(options, fixture.apps)
        let figures = try await run.execute { try await run.failOver(fixture.pair) }
        let entries = run.ledger.entries
        let checker = LedgerChecker(downtimes: figures.downtimes)
        let violations = checker.violations(in: entries, try await run.apps.finalState(of: entries))
        print(figures.report(entries, violations))
        for violation in violations {
            Issue.record("\(violation), audit: \(try await run.apps.audit(of: violation) ?? "nothing")")
        }

        // Far above what it takes on an idle machine: the figure is for people, this is for a failover that hangs.
        for time in figures.timesToFirstSuccess(in: entries, since: \.promotedAt) {
            #expect((try #require(time)) < .seconds(15))
        }
        // The test proves nothing unless each kind of fault happened.
        #expect(figures.failovers.count == options.failovers && !figures.downtimes.isEmpty)
        #expect(entries.contains { $0.isLost } && entries.contains { $0.outcome == .unknown })
        #expect(entries.contains { $0.outcome == .ended })
        #expect(entries.contains { $0.isReplay && $0.outcome == .refused })
        await run.stop()
        try await fixture.pair.stop()
    }
}
