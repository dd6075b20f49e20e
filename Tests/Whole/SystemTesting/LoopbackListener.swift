import Foundation
import Glibc
import Synchronization

/// A listening socket that one thread serves and any other may stop, any number of times.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let descriptor: Int32
    /// Until then the descriptor is ours; afterwards its number may be another's.
    private let isOpen = Mutex(true)

    /// - Parameter port: 0: any that is free.
    init(port: UInt16) throws { (descriptor, self.port) = try LoopbackAddress.listen(port: port) }

    /// Gives each connection to `body`, on a thread of its own, until it is stopped; then closes the socket. Called once:
    /// what accepts is also what closes, so that it never accepts on a number that is another's by now.
    func serve(_ body: @escaping @Sendable (_ peer: Int32) -> Void) {
        while case let peer = accept(descriptor, nil, nil), peer >= 0 {
            Thread.detachNewThread {
                body(peer)
                close(peer)
            }
        }
        isOpen.withLock { isOpen in
            close(descriptor)
            isOpen = false
        }
    }

    /// Connections are refused from now on.
    func stop() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }
}
