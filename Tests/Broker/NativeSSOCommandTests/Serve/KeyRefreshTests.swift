import KeyModule
import PostgresClient
import Registry
import Testing

@testable import native_sso

@Suite(.timeLimit(.minutes(1))) struct KeyRefreshTests {
    private struct AwayDatabase: StatementExecutor {
        func query(
            _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
        ) async throws(PostgresError) -> [Row] { throw .unavailable(.connectFailed) }
    }

    /// A refused start cancels what it loads at the same time.
    @Test(arguments: [false, true]) func `a refresh that was cancelled complains of nothing`(isCancelled: Bool) async {
        let log = RecordedLog()
        let keys = KeyRefresh(
            store: SigningKeyStore(database: AwayDatabase()), provider: FileKeyProvider(directory: "/nowhere"),
            replica: nil, ring: KeyRing(), logger: log.logger)
        let refresh = Task {
            while isCancelled, !Task.isCancelled { await Task.yield() }
            return await keys.refresh()
        }
        if isCancelled { refresh.cancel() }
        #expect(await refresh.value.isEmpty)
        #expect(log.lines.count { $0.contains("keys cannot be listed") } == (isCancelled ? 0 : 1))
    }
}
