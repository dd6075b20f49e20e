import Glibc
import Logging
import Registry
import ServiceLifecycle
import UnixSignals

/// Runs `work`, which ends when it is cancelled, until the broker stops.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    /// Does something again and again.
    static func periodic(_ interval: Duration, _ work: @escaping @Sendable () async -> Void) -> BackgroundService {
        BackgroundService {
            while !Task.isCancelled {
                await work()
                try? await Task.sleep(for: interval)
            }
        }
    }

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

/// Writes audit events in the background, and when the broker stops, what is left of them.
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

/// Does something at each SIGHUP.
struct HangupService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { await work() }
    }
}

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

/// The end of a stop, whatever hangs. The last of all services, and so the first that learns of it.
///
/// By the kernel's alarm: it needs no thread that could be what hangs, and it holds until the process is gone. Nobody is
/// left without an answer by it who would have had one: requests end long before.
struct StopLimit: Service {
    let seconds: UInt32
    let logger: Logger

    func run() async {
        do {
            try await gracefulShutdown()
            logger.notice("stopping")
        } catch {
            // Another service failed, and says so.
        }
        signal(SIGALRM, SIG_DFL)
        alarm(seconds)
    }
}
