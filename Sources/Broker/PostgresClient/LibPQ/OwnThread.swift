import Glibc

/// Threads for work that blocks: sixteen blocking waits on the cooperative pool would stop the whole program.
enum OwnThread {
    /// Starts a detached thread. False if the system has none left.
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
