import ServiceLifecycle

/// Runs `work`, which ends when it is cancelled, until the broker stops.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown { await work() }
    }
}

/// Waits until the broker stops, and then does something: what was begun by `init` is to be ended in its turn.
struct ClosingService: Service {
    let close: @Sendable () async -> Void

    func run() async {
        try? await gracefulShutdown()
        await close()
    }
}
