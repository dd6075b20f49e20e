import Glibc

/// A value behind a lock with condition variables (`Mutex` has none).
///
/// `@unchecked Sendable`: the value is accessed only under the mutex, so `State` must be `Sendable`.
@safe final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let conditions: UnsafeMutablePointer<pthread_cond_t>
    private let count: Int
    private var state: State

    enum Attempt<Value> {
        case done(Value)
        /// Try again when the condition is signalled, or at this time.
        case wait(until: MonotonicTime?)
    }

    /// - Parameter conditions: The number of waiter groups. A group's number is its condition.
    init(_ state: State, conditions count: Int) {
        self.state = state
        self.count = count
        unsafe conditions = .allocate(capacity: count)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        for index in 0..<count { unsafe pthread_cond_init(conditions + index, &attributes) }
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        for index in 0..<count { unsafe pthread_cond_destroy(conditions + index) }
        unsafe pthread_mutex_destroy(mutex)
        unsafe conditions.deallocate()
        unsafe mutex.deallocate()
    }

    func withLock<Value>(_ body: (inout State) -> Value) -> Value {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Blocks until `attempt` returns `.done`. Each attempt borrows the value anew; no borrow lasts across a wait.
    func wait<Value>(on condition: Int, _ attempt: (inout State) -> Attempt<Value>) -> Value {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            switch attempt(&state) {
            case .done(let value): return value
            case .wait(nil): unsafe pthread_cond_wait(conditions + condition, mutex)
            case .wait(let until?):
                var time = until.specification
                unsafe pthread_cond_timedwait(conditions + condition, mutex, &time)
            }
        }
    }

    func signal(_ condition: Int) { unsafe pthread_cond_signal(conditions + condition) }
    func broadcast(_ condition: Int) { unsafe pthread_cond_broadcast(conditions + condition) }
}

/// Threads for blocking work. On the cooperative pool, sixteen blocking waits would stop the whole program.
enum OwnThread {
    /// Starts a detached thread. False if the system cannot create one.
    static func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let box = unsafe Unmanaged.passRetained(Box(work))
        var thread = pthread_t()
        guard unsafe pthread_create(&thread, &attributes, enterThread, box.toOpaque()) == 0 else {
            unsafe box.release()
            return false
        }
        return true
    }

    fileprivate final class Box {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
}

private func enterThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    unsafe Unmanaged<OwnThread.Box>.fromOpaque(argument).takeRetainedValue().work()
    return nil
}

/// Interrupts another thread's wait on a socket.
@safe final class Waker: Sendable {
    private let near: Int32
    private let far: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        _ = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }

    /// Ends the current wait and all later ones. Thread-safe; may be called repeatedly.
    func wake() { shutdown(near, Int32(SHUT_RDWR)) }

    enum Waited {
        case woken, ready, timedOut
    }

    /// Waits until the socket is readable, at most until the deadline. Returns `.woken` at once if the waker has no
    /// sockets.
    func wait(for socket: Int32, until deadline: MonotonicTime) -> Waited {
        guard far >= 0 else { return .woken }
        // poll(2) ignores a negative descriptor.
        var watched = [
            pollfd(fd: far, events: Int16(POLLIN), revents: 0), pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        let ready = unsafe poll(&watched, nfds_t(watched.count), deadline.millisecondsLeft)
        if watched[0].revents != 0 { return .woken }
        return ready > 0 ? .ready : .timedOut
    }
}

/// A point in time on CLOCK_MONOTONIC.
struct MonotonicTime: Sendable, Comparable {
    let nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func after(_ duration: Duration) -> MonotonicTime { now.advanced(by: duration) }

    func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// For poll(2): 0 only if the time has passed.
    var millisecondsLeft: Int32 {
        let left = nanoseconds - Self.now.nanoseconds
        return left <= 0 ? 0 : Int32(clamping: (left - 1) / 1_000_000 + 1)
    }

    var hasPassed: Bool { self <= .now }

    var specification: timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// Blocks the thread. Only for threads started by ``OwnThread``.
    static func pause(_ duration: Duration) {
        var time = MonotonicTime(nanoseconds: duration.clampedNanoseconds).specification
        unsafe nanosleep(&time, nil)
    }

    static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Duration {
    /// Clamped to 0 through about 146 years.
    var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        guard seconds < 4_600_000_000 else { return 4_600_000_000_000_000_000 }
        return seconds * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }

    /// For a server setting; at least 1, because 0 disables the limit.
    var wholeMilliseconds: Int64 { max(1, clampedNanoseconds / 1_000_000) }
}
