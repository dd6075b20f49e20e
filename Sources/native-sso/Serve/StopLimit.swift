import Glibc
import ServiceLifecycle

/// The end of a stop, whatever hangs. The last of all services, and so the first that learns of it.
///
/// By the kernel's alarm: it needs no thread that could be what hangs, and it holds until the process is gone. Nobody is
/// left without an answer by it who would have had one: requests end long before.
struct StopLimit: Service {
    let seconds: UInt32

    func run() async {
        try? await gracefulShutdown()
        signal(SIGALRM, SIG_DFL)
        alarm(seconds)
    }
}
