import Glibc
import Logging
import Registry
import ServiceLifecycle
import UnixSignals

/// Runs `work` until the broker stops, and then cancels it. `work` must end on cancellation.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    /// Repeats `work` with a pause of `interval`.
    static func periodic(_ interval: Duration, _ work: @escaping @Sendable () async -> Void) -> BackgroundService {
        BackgroundService {
            while !Task.isCancelled {
                await work()
                try? await Task.sleep(for: interval)
            }
        }
    }

    func run() async { await cancelWhenGracefulShutdown { await work() } }
}

/// Waits until the broker stops, then closes a component in its turn.
struct ClosingService: Service {
    let close: @Sendable () async -> Void

    func run() async {
        try? await gracefulShutdown()
        await close()
    }
}

/// Writes audit events in the background, and the rest when the broker stops.
struct AuditService: Service {
    let audit: PostgresAuditTrail

    func run() async {
        await withGracefulShutdownHandler {
            await audit.run()
        } onGracefulShutdown: {
            audit.finish()
        }
    }
}

/// Runs `work` at each SIGHUP.
struct HangupService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { await work() }
    }
}

/// Runs `work` after each change and at each interval, until the broker stops. Changes during a run cause one more
/// run, never a concurrent one.
struct RefreshService<Changes: AsyncSequence & Sendable>: Service where Changes.Failure == Never {
    /// Notifications of changes; their content is ignored.
    let changes: Changes
    let interval: Duration
    let work: @Sendable () async -> Void

    func run() async { await cancelWhenGracefulShutdown { await runUntilCancelled() } }

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

/// Kills the process if the stop hangs. As the last service, it learns of the stop first.
///
/// It uses the kernel's alarm, which needs no thread that could hang. All requests have ended long before.
struct StopLimit: Service {
    let seconds: UInt32
    let logger: Logger
    var manager: ServiceManager?

    func run() async {
        do {
            try await gracefulShutdown()
            logger.notice("stopping")
            manager?.send(ServiceManager.stopping)
        } catch {
            // Another service failed and reports it.
        }
        signal(SIGALRM, SIG_DFL)
        alarm(seconds)
    }
}
