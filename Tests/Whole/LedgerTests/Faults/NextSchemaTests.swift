import BrokerHarness
import Foundation
import PrivateCluster
import Testing

/// An upgrade's first step, under load: the schema of the next release arrives while these brokers serve.
@Suite(.timeLimit(.minutes(3))) struct NextSchemaTests {
    /// What a release may do to tables in use: add columns and tables. Recorded as `Migrator` does.
    private static let next = """
        BEGIN;
        SET LOCAL lock_timeout = '5s';
        SET LOCAL ROLE native_sso_admin;
        SET LOCAL search_path = native_sso;
        ALTER TABLE session ADD COLUMN next_release text NOT NULL DEFAULT 'unknown';
        ALTER TABLE sso_grant ADD COLUMN next_release bigint;
        ALTER TABLE client ADD COLUMN next_release boolean NOT NULL DEFAULT false;
        CREATE TABLE next_release (n bigint PRIMARY KEY);
        RESET ROLE;
        INSERT INTO native_sso.schema_migration (version, name, sha256, applied_at, applied_by)
        VALUES (9999, 'next_release', sha256('next'), now(), session_user);
        COMMIT;
        """

    /// The program of the release before this one.
    private static let previous = ProcessInfo.processInfo.environment["PREVIOUS_RELEASE"]

    /// The other way around: this schema came first, then one broker after another.
    @Test(.enabled(if: previous != nil, "deploy/verify release runs it"))
    func thePreviousReleaseServesBesideThisSchema() async throws {
        let previous = try #require(Self.previous)
        try await undergo(migratedBy: previous) { run, _ in
            for index in 0...1 { try await run.restart(index, by: 15, untilReady: true, as: previous) }
            try await run.untilAnswered(400)
            try await run.restart(0, by: 15, untilReady: true)
            try await run.untilAnswered(400)
        }
    }

    @Test func theseBrokersServeBesideTheNextSchema() async throws {
        try await undergo { run, fixture in
            try await fixture.pair.primary.psql(Self.next, database: fixture.installation.database)
            // The brokers read the registry and make their plans anew.
            try await run.untilAnswered(400)
            // A broker of this release can also start beside it.
            try await run.restart(0, by: 15, untilReady: true)
            try await run.untilAnswered(200)
        }
    }

    private func undergo(
        migratedBy previous: String? = nil,
        _ upgrade: @escaping @Sendable (LedgerRun, ReplicatedFixture) async throws -> Void
    ) async throws {
        let fixture = try await ReplicatedFixture(migratedBy: previous)
        let run = try await LedgerRun(.chosen, fixture.apps)
        let figures = try await run.execute {
            try await run.untilAnswered(200)
            try await upgrade(run, fixture)
        }
        for broker in run.wire.brokers { #expect(try await broker.readiness() == 200) }
        let entries = run.ledger.entries
        let checker = LedgerChecker(downtimes: figures.downtimes)
        let violations = checker.violations(in: entries, try await fixture.finalState(of: entries))
        #expect(violations.isEmpty, "\(violations)")
        await run.stop()
        try await fixture.pair.stop()
    }
}
