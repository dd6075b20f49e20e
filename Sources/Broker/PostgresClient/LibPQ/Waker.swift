import Glibc

/// Ends a thread's wait on sockets from another thread.
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

    /// From now on no wait lasts. May be called often, from anywhere.
    func wake() { shutdown(near, Int32(SHUT_RDWR)) }

    enum Waited {
        case woken, ready, timedOut
    }

    /// Waits until the socket can be read, at most until the deadline. Woken at once if there is no waker to be had.
    func wait(for socket: Int32, until deadline: MonotonicTime) -> Waited {
        guard far >= 0 else { return .woken }
        // poll(2) passes over a negative descriptor.
        var watched = [
            pollfd(fd: far, events: Int16(POLLIN), revents: 0), pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        let ready = unsafe poll(&watched, nfds_t(watched.count), deadline.millisecondsLeft)
        if watched[0].revents != 0 { return .woken }
        return ready > 0 ? .ready : .timedOut
    }
}
