import PostgresClient
import Synchronization

/// Callers of an executor that each have one call under way at any time.
struct Callers: Sendable {
    let executor: any StatementExecutor
    let statement: HotStatement
    let block: PopulationBlock
    private static let warmUp = Duration.seconds(1)

    private final class Progress: Sendable {
        let done = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
    }

    func measure(seconds: Double, server: ServerProcesses) async throws -> Window {
        let progress = Progress()
        let rows = block.range.map(PopulationRow.init)
        return try await withThrowingTaskGroup(of: Window?.self) { group in
            for caller in 0..<block.callers {
                let start = block.firstRow(ofCaller: caller) - block.first
                group.addTask {
                    try await call(rows[start..<start + PopulationBlock.rowsPerCaller], progress)
                    return nil
                }
            }
            group.addTask {
                defer { progress.isOver.store(true, ordering: .relaxed) }
                try await Task.sleep(for: Self.warmUp)
                let before = try (Usage(broker: nil, server: server), progress.done.load(ordering: .relaxed))
                try await Task.sleep(for: .seconds(seconds))
                let after = try (Usage(broker: nil, server: server), progress.done.load(ordering: .relaxed))
                return Window(
                    operations: Double(after.1 - before.1),
                    seconds: Double(after.0.instant - before.0.instant) / 1e9,
                    client: after.0.own - before.0.own, server: after.0.postgresql - before.0.postgresql,
                    elsewhere: after.0.elsewhere(since: before.0))
            }
            var window: Window?
            while let result = try await group.next() { window = result ?? window }
            guard let window else { throw CancellationError() }
            return window
        }
    }

    private func call(_ rows: ArraySlice<PopulationRow>, _ progress: Progress) async throws {
        var generation: Int32 = 0
        while true {
            generation += 1
            for row in rows {
                if progress.isOver.load(ordering: .relaxed) { return }
                _ = try await executor.query(
                    statement.statement, statement.parameters(row, generation: generation),
                    locking: statement.lock(row))
                progress.done.wrappingAdd(1, ordering: .relaxed)
            }
        }
    }
}
