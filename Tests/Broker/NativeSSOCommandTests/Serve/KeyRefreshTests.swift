import KeyModule
import NativeSSO
import PostgresClient
import Registry
import Synchronization
import Testing

@testable import native_sso

@Suite(.timeLimit(.minutes(1))) struct KeyRefreshTests {
    private struct AwayDatabase: StatementExecutor {
        func query(
            _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
        ) async throws(PostgresError) -> [Row] { throw .unavailable(.connectFailed) }
    }

    /// A table without keys, which counts how often it is read.
    private final class EmptyTable: StatementExecutor {
        let reads = Mutex(0)

        func query(
            _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
        ) async throws(PostgresError) -> [Row] {
            reads.withLock { $0 += 1 }
            return []
        }
    }

    private func keys(_ database: any StatementExecutor, _ ring: KeyRing, _ log: RecordedLog) -> KeyRefresh {
        let keys = KeyRefresh(
            store: SigningKeyStore(database: database), provider: FileKeyProvider(directory: "/nowhere"),
            replica: nil, ring: ring, logger: log.logger)
        ring.readsAgain { () async throws(PortError) in try await keys.refresh() }
        return keys
    }

    @Test func `a flood of unknown key ids reads the table five times a second`() async throws {
        let (table, ring) = (EmptyTable(), KeyRing())
        let keys = keys(table, ring, RecordedLog())
        _ = await keys.load()
        let start = ContinuousClock.now
        for _ in 0..<3 {
            await withTaskGroup { group in
                for index in 0..<1000 {
                    group.addTask { () -> Bool? in
                        do throws(PortError) {
                            return try await ring.tag([], keyID: UInt8(truncatingIfNeeded: index)) == nil
                        } catch {
                            guard case .outage(let outage) = error else { return nil }
                            return outage.isUndecided
                        }
                    }
                }
                for await isRight in group { #expect(isRight == true) }
            }
        }
        let seconds = Double((ContinuousClock.now - start).components.seconds) + 1
        #expect(Double(table.reads.withLock { $0 }) <= seconds * 5 + 2)
    }

    @Test func `an unknown key is an outage while the table cannot be read`() async throws {
        let (ring, log) = (KeyRing(), RecordedLog())
        let keys = keys(AwayDatabase(), ring, log)
        #expect(ring.adopt(await KeySet([], from: FileKeyProvider(directory: "/nowhere"))))
        do throws(PortError) {
            _ = try await ring.tag([], keyID: 1)
            Issue.record("a final answer")
        } catch {
            guard case .outage(let outage) = error else { throw error }
            #expect(outage.component == .database && outage.isUndecided)
        }
        _ = keys
    }

    /// A refused start cancels what it loads at the same time.
    @Test(arguments: [false, true]) func `a refresh that was cancelled complains of nothing`(isCancelled: Bool) async {
        let log = RecordedLog()
        let keys = keys(AwayDatabase(), KeyRing(), log)
        let load = Task {
            while isCancelled, !Task.isCancelled { await Task.yield() }
            return await keys.load()
        }
        if isCancelled { load.cancel() }
        #expect(await load.value == nil)
        #expect(log.lines.count { $0.contains("keys cannot be listed") } == (isCancelled ? 0 : 1))
    }
}
