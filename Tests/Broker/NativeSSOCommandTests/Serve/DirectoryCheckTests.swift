import BrokerHTTP
import BrokerTesting
import PostgresClient
import Registry
import Testing

@testable import native_sso

@Suite(.timeLimit(.minutes(1))) struct DirectoryCheckTests {
    private struct EmptyDatabase: StatementExecutor {
        func query(
            _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
        ) async throws(PostgresError) -> [Row] { [] }
    }

    @Test func `readiness and metrics tell how old the copy of the registry is`() async throws {
        let clock = ManualClock()
        let snapshot = RegistrySnapshot(database: EmptyDatabase(), clock: clock)
        let check = DirectoryCheck(snapshot: snapshot)
        func age() -> Double? { check.samples.first { $0.name.description == "registry_copy_age_seconds" }?.value }
        clock.advance(by: .seconds(7))
        #expect(await check.problem()?.description == "never_loaded")
        #expect(age() == 7)
        try await snapshot.reload()
        #expect(age() == 0)
        clock.advance(by: .seconds(60))
        #expect(await check.problem()?.description == nil)
        clock.advance(by: .seconds(1))
        #expect(await check.problem()?.description == "too_old")
        #expect(age() == 61)
        try await snapshot.reload()
        #expect(await check.problem()?.description == nil)
    }
}
