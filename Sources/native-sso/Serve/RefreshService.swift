import ServiceLifecycle

/// Does something whenever told that something changed, and again and again in any case, until the broker stops. One run at
/// a time: however much changes during one, it is followed by one more.
struct RefreshService<Changes: AsyncSequence & Sendable>: Service where Changes.Failure == Never {
    /// Hints that something changed; nothing is read from them.
    let changes: Changes
    let interval: Duration
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown { await runUntilCancelled() }
    }

    private func runUntilCancelled() async {
        let (wakeups, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in changes { wake.yield() }
            }
            group.addTask {
                while !Task.isCancelled {
                    wake.yield()
                    try? await Task.sleep(for: interval)
                }
            }
            for await _ in wakeups { await work() }
            group.cancelAll()
        }
    }
}
