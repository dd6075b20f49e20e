import ServiceLifecycle

/// Does something again and again until the broker stops.
struct PeriodicService: Service {
    let interval: Duration
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await work()
                try? await Task.sleep(for: interval)
            }
        }
    }
}
