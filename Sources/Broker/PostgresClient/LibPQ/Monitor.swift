import Glibc

/// A value behind a lock on which threads can wait. (`Mutex` has no condition variable.)
///
/// `@unchecked Sendable`: the value is only ever touched with the mutex held, which is why `State` must be `Sendable`.
@safe final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let conditions: UnsafeMutablePointer<pthread_cond_t>
    private let count: Int
    private var state: State

    enum Attempt<Value> {
        case done(Value)
        /// Look again when the condition is signalled, or at that time.
        case wait(until: MonotonicTime?)
    }

    /// - Parameter conditions: How many groups of waiters there are; each is signalled by its number.
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

    /// Blocks until `attempt` is done. Each attempt borrows the value anew: no borrow lasts over a wait.
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
