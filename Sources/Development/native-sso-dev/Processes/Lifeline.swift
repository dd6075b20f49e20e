import Foundation
import Synchronization

/// The writing end of a pipe that nobody writes to. Its end is the message.
final class Lifeline: Sendable {
    private let handle: Mutex<FileHandle?>

    /// - Parameter handle: The end of a ``PrivateChannel``: no child may hold it open.
    init(_ handle: FileHandle) {
        self.handle = Mutex(handle)
    }

    func sever() {
        handle.withLock { handle in
            try? handle?.close()
            handle = nil
        }
    }
}
