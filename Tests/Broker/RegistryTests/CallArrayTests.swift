import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// The lanes give one statement all calls of a batch. Two of them may concern one row: they are answered in sequence.
@Suite("Two calls in one array", .serialized, .timeLimit(.minutes(2)))
struct CallArrayTests {
    @Test("Two exchanges make two generations of one grant, whether it is there or not; two first sights one session")
    func exchanges() async throws {
        try await TestDatabase.withFixture { database in
            let grant = try await RefreshScenario().placed(in: database)
            let present = try await Self.twice(grant.exchange, in: database) { $0.scope = Scope(["openid"]) }
            #expect(present.map { $0.grant?.generation } == [6, 7])
            #expect(Set(present.map { $0.grant?.id }) == [grant.grantID])

            let scenario = try await ExchangeScenario().placed(in: database)
            let new = try await Self.twice(scenario, in: database) { $0.scope = Scope(["openid"]) }
            #expect(new.map { $0.grant?.generation } == [1, 2])
            #expect(Set(new.map { $0.grant?.id }).count == 1)

            let login = try await ExchangeScenario.firstSight().placed(in: database)
            let sibling = try await login.sibling(2).placed(in: database)
            let first = try await Self.twice(login, in: database) { $0 = sibling }
            #expect(first.map { $0.grant?.generation } == [1, 1])
            #expect(Set(first.map { $0.session?.id }).count == 1)
        }
    }

    @Test("A proof in two calls works once, and the first of two keys of a client on a device is bound")
    func proofs() async throws {
        try await TestDatabase.withFixture { database in
            let scenario = try await ExchangeScenario.bound().placed(in: database)
            var other = scenario.sibling(2)
            other.client.proofPolicy = .optional
            other.proof = scenario.proof
            var rows = other
            rows.session = nil
            try await rows.put(into: database)
            let one = try await Self.twice(scenario, in: database) { [other] in $0 = other }
            #expect(one.map(\.proofWasUsed) == [false, true])
            #expect(one.map { $0.grant == nil } == [false, true])

            let keys = try await ExchangeScenario.bound().placed(in: database)
            let two = try await Self.twice(keys, in: database) { $0.proof = .random() }
            #expect(two.map { $0.grant == nil } == [false, true])
        }
    }

    @Test("Two logins do not bind two keys of one client on one device")
    func twoKeysOfTwoLogins() async throws {
        let scenario = try ExchangeScenario.bound()
        var other = scenario
        other.proof = .random()
        other.sessionID = SessionID(validated: "another-\(scenario.group)")
        let row = try #require(scenario.session)
        other.session = SessionRow(
            id: .random(), issuer: row.issuer, sid: other.sessionID, subject: row.subject,
            sourceClient: row.sourceClient, device: row.device, expiresIn: row.expiresIn)
        let parameters =
            ExchangeStatement.parameters(try scenario.admission)
            + ExchangeStatement.parameters(try other.admission)
        try await TestDatabase.withFixture { [other] database in
            try await scenario.put(into: database)
            try await other.put(into: database)
            do throws(PostgresError) {
                _ = try await database.service.query(Self.twoExchanges, parameters, locking: .none)
                Issue.record("both were bound")
            } catch {
                // The lanes then run each call by itself.
                guard case .server(let state, _, _) = error else { throw error }
                #expect(state.isRetryable)
            }
        }
    }

    @Test("A refresh token sent twice gets one successor; a spent one revokes")
    func oneToken() async throws {
        let scenario = try RefreshScenario()
        #expect(try await refresh(scenario, scenario) == ["advanced", "none"])
        var spent = scenario
        spent.generation = 3
        #expect(try await refresh(scenario, spent) == ["advanced", "revoked"])
        // The reverse order, too: the advance is written first.
        #expect(try await refresh(spent, scenario) == ["revoked", "advanced"])
        #expect(try await refresh(spent, spent) == ["revoked", "none"])
    }

    // MARK: Two calls

    /// The answers to an exchange and to a changed one, in this order.
    private static func twice(
        _ first: ExchangeScenario, in database: PostgresFixture, _ change: (inout ExchangeScenario) -> Void
    ) async throws -> [AdmissionFacts] {
        var second = first
        change(&second)
        let rows = try await database.service.query(
            twoExchanges,
            ExchangeStatement.parameters(try first.admission) + ExchangeStatement.parameters(try second.admission),
            locking: .none)
        return try rows.map { try ExchangeStatement.facts($0) }
    }

    private func refresh(_ first: RefreshScenario, _ second: RefreshScenario) async throws -> [String] {
        try await TestDatabase.withFixture { database in
            try await first.put(into: database)
            let rows = try await database.service.query(
                Self.twoRefreshes,
                RefreshStatement.parameters(first.rotation) + RefreshStatement.parameters(second.rotation),
                locking: .none)
            return try rows.map { try RefreshStatement.facts($0).effect.rawValue }
        }
    }

    private static let twoExchanges = Statement(
        """
        SELECT a.* FROM unnest(native_sso.exchange(
            ARRAY[
                ROW ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
                    $25, $26),
                ROW ($31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49,
                    $50, $51, $52, $53, $54, $55, $56)]::native_sso.exchange_call[],
            ARRAY[ROW (1, $27, $28, $29, $30), ROW (2, $57, $58, $59, $60)]::native_sso.shown[])) AS a ORDER BY a.place
        """)
    private static let twoRefreshes = Statement(
        """
        SELECT a.* FROM unnest(native_sso.refresh(
            ARRAY[
                ROW ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12),
                ROW ($17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)
                ]::native_sso.refresh_call[],
            ARRAY[ROW (1, $13, $14, $15, $16), ROW (2, $29, $30, $31, $32)]::native_sso.shown[])) AS a ORDER BY a.place
        """)
}
