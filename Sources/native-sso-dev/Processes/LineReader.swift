import Foundation

/// Reads lines on a thread of its own: a blocking read must not occupy the cooperative pool.
enum LineReader {
    /// - Parameter end: Called when there are no more, before the stream finishes.
    static func lines(of handle: FileHandle, end: @escaping @Sendable () -> Void = {}) -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                // `FileHandle` reads on until it has all that was asked for; read(2) gives what is there.
                var pending: [UInt8] = []
                var portion = [UInt8](repeating: 0, count: 65_536)
                while case let count = read(handle.fileDescriptor, &portion, portion.count), count > 0 {
                    pending += portion[..<count]
                    while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: pending[..<newline], as: UTF8.self))
                        pending.removeSubrange(...newline)
                    }
                }
                if !pending.isEmpty { continuation.yield(String(decoding: pending, as: UTF8.self)) }
                end()
                continuation.finish()
            }
        }
    }
}

extension FileHandle {
    /// The file `path`, made readable by its owner alone if it is not there, to be written at its end.
    convenience init(appendingTo path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
