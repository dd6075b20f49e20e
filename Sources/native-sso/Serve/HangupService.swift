import ServiceLifecycle
import UnixSignals

/// Does something at each SIGHUP.
struct HangupService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { await work() }
    }
}
