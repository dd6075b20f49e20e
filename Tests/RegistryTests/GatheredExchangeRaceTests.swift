import BrokerTesting
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// The statement for many exchanges looks at every chain in one snapshot, and may wait behind it for one that somebody else has. What
/// moved meanwhile is judged as it is then.
@Suite("A chain that moves while the statement for many exchanges waits for it", .serialized, .timeLimit(.minutes(2)))
struct GatheredExchangeRaceTests {
    /// What is presented meanwhile, of a chain that is at 5 and was refreshed an hour ago.
    enum Change: CaseIterable {
        case refresh
        /// The token before, long after its grace.
        case lateToken
        /// The one before that.
        case replay
        /// The successor of one that came late: it is proof of two holders.
        case successorOfLateToken

        var generations: [Int32] {
            switch self {
            case .refresh: [5]
            case .lateToken: [4]
            case .replay: [3]
            case .successorOfLateToken: [4, 5]
            }
        }

        /// Whoever brings that proof has the session locked: the statement for many passes it over, and the exchange is made alone.
        var whoWaits: String { self == .successorOfLateToken ? "native_sso.admit(" : "native_sso.admit_batch(" }
    }

    @Test(arguments: Change.allCases) func whatMovedIsJudgedAsItIs(_ change: Change) async throws {
        try await TestDatabase.withFixture(overLanes: true, gathersFrom: 1) { database in
            let scenario = try RefreshScenario()
            try await scenario.put(into: database)
            let presented = try change.generations.map { generation in
                var presented = scenario
                presented.generation = generation
                return try AdvanceStatement.parameters(presented.rotation)
            }
            let (attempt, waiting) = try await database.meeting { transaction throws(PostgresError) in
                _ = try transaction.query(Statement("SET LOCAL search_path = native_sso, pg_temp"))
                for parameters in presented { _ = try transaction.query(Self.advance, parameters) }
            } _: {
                try await scenario.exchange.attempt(on: database.registry)
            }
            #expect(waiting?.contains(change.whoWaits) == true, "\(waiting ?? "nobody")")
            switch change {
            case .refresh:
                #expect(attempt.grant?.id == scenario.grantID && attempt.grant?.generation == 7)
            case .lateToken:
                let grant = try #require(attempt.grant)
                #expect(grant.id != scenario.grantID && grant.generation == 1)
            case .replay, .successorOfLateToken:
                #expect(attempt.refusal == .loginAfterReplay && attempt.grant == nil)
            }
            #expect(try await database.counts().liveGrants == (attempt.grant == nil ? 0 : 1))
        }
    }

    private static let advance = Statement(
        "SELECT native_sso.advance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)")
}
