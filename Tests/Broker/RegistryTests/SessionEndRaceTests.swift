import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import Testing

/// A logout commits during an exchange or a refresh. The broker must issue nothing after it.
@Suite("A session that ends during a call", .serialized)
struct SessionEndRaceTests {
    @Test("An exchange waits for the end and is refused", arguments: [Seconds(0), .minutes(10)], [false, true])
    func exchange(lastUsed: Seconds, gathered: Bool) async throws {
        try await TestDatabase.withFixture(overLanes: gathered, gathersFrom: 1) { database in
            var scenario = try ExchangeScenario()
            scenario.session?.lastUsed = lastUsed
            try await scenario.put(into: database)
            let before = try await database.counts()
            let attempt = try await database.meetingTheEnd(of: try #require(scenario.session).id) { [scenario] in
                try await scenario.attempt(on: database.registry)
            }
            #expect(attempt.refusal == .sessionEnded)
            #expect(try await database.counts().grants == before.grants)
        }
    }

    @Test("A refresh waits for the end and is refused", arguments: [Seconds(0), .minutes(10)], [false, true])
    func refresh(lastUsed: Seconds, gathered: Bool) async throws {
        try await TestDatabase.withFixture(overLanes: gathered, gathersFrom: 1) { database in
            var scenario = try RefreshScenario()
            scenario.exchange.session?.lastUsed = lastUsed
            try await scenario.put(into: database)
            let session = try #require(scenario.exchange.session).id
            let attempt = try await database.meetingTheEnd(of: session) { [scenario] in
                try await scenario.attempt(on: database.registry)
            }
            #expect(attempt.refusal == .sessionEnded && attempt.facts.effect == .none)
        }
    }
}

extension PostgresFixture {
    /// Ends the session, starts `attempt`, and commits as soon as `attempt` waits for the end, or has ended without
    /// waiting.
    fileprivate func meetingTheEnd<Value: Sendable>(
        of session: UniqueID, _ attempt: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await holding { transaction throws(PostgresError) in
            _ = try transaction.query(Self.endSessions, [.textArray([session.description]), .text("logout")])
        } _: {
            try await attempt()
        }.value
    }

    private static let endSessions = Statement("SELECT native_sso.end_sessions($1::text[]::uuid[], $2, 'test', NULL)")
}
