import Dispatch
import Glibc
import Synchronization

/// The end of one process, which any number of others may wait for.
final class ProcessEnd: Sendable {
    private let known = Mutex<Int32?>(nil)
    private let group = DispatchGroup()

    init() { group.enter() }

    /// Blocks until the process has ended, then tells everybody. Called once.
    func await(_ pid: Int32) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        // The next call frees the process number, so no signal may be in progress.
        known.withLock { $0 = Self.collect(pid) }
        group.leave()
    }

    var status: Int32? { known.withLock { $0 } }

    func wait() -> Int32 {
        group.wait()
        return status ?? -1
    }

    func wait(within limit: Duration) -> Int32? {
        _ = group.wait(timeout: .now() + limit / .seconds(1))
        return status
    }

    func reached() async -> Int32 {
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume(returning: self.status ?? -1) }
        }
    }

    func whileRunning(_ body: () -> Void) {
        known.withLock { if $0 == nil { body() } }
    }

    private static func collect(_ pid: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
}
