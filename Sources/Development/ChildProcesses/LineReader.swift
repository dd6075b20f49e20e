package import Foundation
import Synchronization

/// Reads what a child writes, line by line, on a thread of its own: a blocking read must not occupy the cooperative pool.
package final class LineReader: Sendable {
    /// For one reader at a time. Cancelling its task ends the lines for everybody.
    package let lines: AsyncStream<String>
    private let sink: AsyncStream<String>.Continuation

    /// No line came within the limit.
    package struct Silence: Error, CustomStringConvertible {
        package let limit: Duration
        package var description: String { "no line came within \(limit)" }
    }

    /// - Parameter end: Called when the writing end is closed everywhere, before the lines finish.
    package init(_ handle: FileHandle, end: @escaping @Sendable () -> Void = {}) {
        let (lines, sink) = AsyncStream.makeStream(of: String.self)
        (self.lines, self.sink) = (lines, sink)
        Thread.detachNewThread {
            // `FileHandle` waits until it has read the full count; read(2) returns the available octets.
            var pending: [UInt8] = []
            var portion = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(handle.fileDescriptor, &portion, portion.count), count > 0 {
                pending += portion[..<count]
                while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    sink.yield(String(decoding: pending[..<newline], as: UTF8.self))
                    pending.removeSubrange(...newline)
                }
            }
            if !pending.isEmpty { sink.yield(String(decoding: pending, as: UTF8.self)) }
            end()
            sink.finish()
        }
    }

    /// Ends the lines, even if a process still writes.
    package func finish() { sink.finish() }

    /// The next line; `nil` when there are no more.
    package func next() async -> String? {
        var iterator = lines.makeAsyncIterator()
        return await iterator.next()
    }

    /// The same, waited for at most so long.
    package func next(within limit: Duration) async throws(Silence) -> String? {
        let isOver = Flag()
        let watch = Task { [sink] in
            try await Task.sleep(for: limit)
            isOver.isSet.store(true, ordering: .releasing)
            sink.finish()
        }
        defer { watch.cancel() }
        let line = await next()
        guard line == nil, isOver.isSet.load(ordering: .acquiring) else { return line }
        throw Silence(limit: limit)
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }
}
