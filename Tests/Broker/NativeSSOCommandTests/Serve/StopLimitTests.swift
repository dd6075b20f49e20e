import Glibc
import Logging
import ServiceLifecycle
import Testing
import UnixSignals

@testable import native_sso

struct StopLimitTests {
    /// Ignores the stop.
    private struct Stuck: Service {
        func run() async { await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in } }
    }

    /// Starts the stop.
    private struct Stopper: Service {
        func run() async throws {
            kill(getpid(), SIGTERM)
            try await gracefulShutdown()
        }
    }

    @Test func aStopThatHangsEndsWithTheProgram() async {
        await #expect(processExitsWith: .signal(SIGALRM)) {
            let services: [any Service] = [Stuck(), Stopper(), StopLimit(seconds: 1, logger: Logger(label: "stop"))]
            try await ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: services, gracefulShutdownSignals: [.sigterm], logger: Logger(label: "stop"))
            ).run()
        }
    }
}
