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
    enum Change: CaseIterable {
        case refresh
        /// The previous token, long after its grace period.
        case lateToken
        /// The token before the previous one.
        case replay
        /// The successor of a late token, which proves two holders.
        case successorOfLateToken
        case revocation
        case fastForward
        /// A lock that leaves the row unchanged.
        case lockOfGrant
        case lockOfSession

        var presentedGenerations: [Int32] {
            switch self {
            case .refresh: [5]
            case .lateToken: [4]
            case .replay: [3]
            case .successorOfLateToken: [4, 5]
            case .revocation, .fastForward, .lockOfGrant, .lockOfSession: []
            }
        }

        var sql: Statement? {
            switch self {
            case .refresh, .lateToken, .replay, .successorOfLateToken: nil
            case .revocation:
                Statement(
                    "UPDATE native_sso.sso_grant SET revoked_at = now(), revoke_reason = 'operator' WHERE grant_id = $1"
                )
            case .fastForward:
                Statement(
                    """
                    UPDATE native_sso.sso_grant SET generation = generation + 1, refreshed_generation = generation + 1
                    WHERE grant_id = $1
                    """)
            case .lockOfGrant: Statement("SELECT FROM native_sso.sso_grant WHERE grant_id = $1 FOR UPDATE")
            case .lockOfSession:
                Statement(
                    """
                    SELECT FROM native_sso.session l JOIN native_sso.sso_grant g USING (session_id)
                    WHERE g.grant_id = $1 FOR NO KEY UPDATE OF l
                    """)
            }
        }
    }

    @Test(arguments: Change.allCases, [false, true])
    func whatMovedIsJudgedAsItIs(_ change: Change, overLanes: Bool) async throws {
        try await TestDatabase.withFixture(overLanes: overLanes) { database in
            let scenario = try RefreshScenario()
            try await scenario.put(into: database)
            let presented = change.presentedGenerations.map { generation in
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
            switch change {
            case .refresh, .fastForward:
                #expect(attempt.grant?.id == scenario.grantID && attempt.grant?.generation == 7)
            case .lockOfGrant, .lockOfSession:
                #expect(attempt.grant?.id == scenario.grantID && attempt.grant?.generation == 6)
            case .lateToken, .revocation:
                let grant = try #require(attempt.grant)
                #expect(grant.id != scenario.grantID && grant.generation == 1)
            case .replay, .successorOfLateToken:
                #expect(attempt.refusal == .loginAfterReplay && attempt.grant == nil)
            }
            #expect(try await database.counts().liveGrants == (attempt.grant == nil ? 0 : 1))
        }
    }

    /// The grant does not exist when the exchange reads, and is not live when it continues: only the session shows it.
    @Test("An exchange sees a grant that was created and replayed meanwhile")
    func aGrantsWholeLife() async throws {
        try await TestDatabase.withFixture { database in
            let scenario = try ExchangeScenario()
            try await scenario.put(into: database)
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
