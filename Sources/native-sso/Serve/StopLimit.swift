import Glibc
import Logging
import ServiceLifecycle

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
