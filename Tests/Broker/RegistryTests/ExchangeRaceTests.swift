import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// An exchange reads all rows in one snapshot, and then waits for a row that another transaction has changed. Every
/// writer that changes a judged fact makes a new version of the session or the grant, so that the exchange judges
/// again. `SessionEndRaceTests` covers the ends of sessions.
@Suite("A row that changes during an exchange", .serialized, .timeLimit(.minutes(2)))
struct ExchangeRaceTests {
    /// A change during the exchange. The grant is at generation 5 and was refreshed an hour ago.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The refresh tokens that are presented.
        var generations: [Int32] = []
        var sql: Statement?
        /// What the exchange gives: above 1 of the same grant, 1 of another one; `nil`: it is refused.
        let given: Int32?
    }

    static let changes = [
        Change(testDescription: "a refresh", generations: [5], given: 7),
        Change(testDescription: "the previous token, long after its grace period", generations: [4], given: 1),
        Change(testDescription: "the token before the previous one", generations: [3], given: nil),
        Change(testDescription: "a late token and its successor, which is reuse", generations: [4, 5], given: nil),
        Change(
            testDescription: "a revocation",
            sql: Statement(
                "UPDATE native_sso.sso_grant SET revoked_at = now(), revoke_reason = 'operator' WHERE grant_id = $1"),
            given: 1),
        Change(
            testDescription: "a step forward",
            sql: Statement(
                """
                UPDATE native_sso.sso_grant SET generation = generation + 1, refreshed_generation = generation + 1
                WHERE grant_id = $1
                """), given: 7),
        Change(
            testDescription: "a lock of the grant, which leaves it unchanged",
            sql: Statement("SELECT FROM native_sso.sso_grant WHERE grant_id = $1 FOR UPDATE"), given: 6),
        Change(
            testDescription: "a lock of the session",
            sql: Statement(
                """
                SELECT FROM native_sso.session l JOIN native_sso.sso_grant g USING (session_id)
                WHERE g.grant_id = $1 FOR NO KEY UPDATE OF l
                """), given: 6),
    ]

    @Test(arguments: changes, [false, true])
    func whatMovedIsJudgedAsItIs(_ change: Change, overLanes: Bool) async throws {
        try await TestDatabase.withFixture(overLanes: overLanes) { database in
            let scenario = try await RefreshScenario().placed(in: database)
            let presented = change.generations.map { generation in
                var presented = scenario
                presented.generation = generation
                return RefreshStatement.parameters(presented.rotation)
            }
            let (attempt, waiting) = try await database.holding { transaction throws(PostgresError) in
                _ = try transaction.query(Self.setPath)
                for parameters in presented { _ = try transaction.query(RefreshStatement.statement, parameters) }
                if let sql = change.sql { _ = try transaction.query(sql, [.uuid(scenario.grantID.octets)]) }
            } _: {
                try await scenario.exchange.attempt(on: database.registry)
            }
            #expect(waiting?.contains("native_sso.exchange(") == true, "\(waiting ?? "nobody")")
            #expect(attempt.defect == nil)
            #expect(attempt.grant?.generation == change.given)
            #expect(attempt.refusal == (change.given == nil ? .loginAfterReplay : nil))
            #expect((attempt.grant?.id == scenario.grantID) == (change.given ?? 0 > 1))
            #expect(try await database.counts().liveGrants == (attempt.grant == nil ? 0 : 1))
        }
    }

    /// The grant does not exist when the exchange reads, and is not live when it continues: only the session shows it.
    @Test("An exchange sees a grant that was created and replayed meanwhile")
    func aGrantsWholeLife() async throws {
        try await TestDatabase.withFixture { database in
            let scenario = try await ExchangeScenario().placed(in: database)
            let thief = try scenario.admission
            let refreshes = [1, 2, 1].map { generation in
                RefreshStatement.parameters(
                    RefreshScenario(after: scenario, grantID: thief.proposedGrantID, generation: generation).rotation)
            }
            let exchange = ExchangeStatement.parameters(thief)
            let (attempt, waiting) = try await database.holding { transaction throws(PostgresError) in
                _ = try transaction.query(Self.setPath)
                _ = try transaction.query(ExchangeStatement.statement, exchange)
                for parameters in refreshes { _ = try transaction.query(RefreshStatement.statement, parameters) }
            } _: {
                try await scenario.attempt(on: database.registry)
            }
            #expect(waiting?.contains("native_sso.exchange(") == true, "\(waiting ?? "nobody")")
            #expect(attempt.refusal == .loginAfterReplay)
            #expect(try await database.counts().liveGrants == 0)
        }
    }

    private static let setPath = Statement("SET LOCAL search_path = native_sso, pg_temp")
}
