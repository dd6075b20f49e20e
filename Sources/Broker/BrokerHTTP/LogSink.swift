import Dispatch
import Glibc
import Synchronization

/// Where log lines go: a file descriptor that may be slow, or stuck.
///
/// The caller never waits. Lines gather in a buffer, and one thread writes it out 25 ms after the first line: waking
/// the thread for each line would cost more than the line. When the buffer is full, or the descriptor takes nothing
/// because its disk is full, lines are dropped and counted. The log reports the number after the next lines that it
/// takes.
package final class LogSink: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var isWriterDue = false
        var dropped = 0
        /// Not reported yet.
        var unreported = 0
        var dropNote: (@Sendable (Int) -> [UInt8])?

        mutating func drop(_ lines: Int) {
            dropped += lines
            unreported += lines
        }
    }

    private let descriptor: Int32
    private let capacity: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "log")

    /// How long a line may wait for others.
    private static let delay = DispatchTimeInterval.milliseconds(25)

    /// - Parameter capacity: Octets that may wait to be written.
    package init(fileDescriptor: Int32, capacity: Int = 1 << 20) {
        descriptor = fileDescriptor
        self.capacity = capacity
    }

    package static let standardError = LogSink(fileDescriptor: STDERR_FILENO)

    /// Lines lost since the start.
    package var droppedLines: Int { state.withLock(\.dropped) }

    /// For the end of the process: waits until all earlier lines are written, for 1 s at most, because the descriptor
    /// may be stuck.
    package func flush() {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async {
            self.writeOut()
            isWritten.signal()
        }
        _ = isWritten.wait(timeout: .now() + .seconds(1))
    }

    /// - Parameter note: The line that reports a number of lost lines.
    func reportDrops(as note: @escaping @Sendable (Int) -> [UInt8]) { state.withLock { $0.dropNote = note } }

    /// - Parameters:
    ///   - line: With its line end.
    ///   - isUrgent: Not to wait for others.
    func write(_ line: [UInt8], isUrgent: Bool) {
        let wakesWriter = state.withLock { state -> Bool in
            guard state.buffer.count + line.count <= capacity else {
                state.drop(1)
                return false
            }
            state.buffer.append(contentsOf: line)
            defer { state.isWriterDue = true }
            return isUrgent || !state.isWriterDue
        }
        guard wakesWriter else { return }
        queue.asyncAfter(deadline: isUrgent ? .now() : .now() + Self.delay) { self.writeOut() }
    }

    private func writeOut() {
        while true {
            let lines = state.withLock { state -> [UInt8] in
                if state.buffer.isEmpty { state.isWriterDue = false }
                return exchange(&state.buffer, with: [])
            }
            if lines.isEmpty { return }
            let lost = write(lines)
            guard lost == 0 else {
                state.withLock { $0.drop(lost) }
                continue
            }
            noteDrops()
        }
    }

    private func noteDrops() {
        let (count, note) = state.withLock { ($0.unreported, $0.dropNote) }
        guard count > 0, let note, write(note(count)) == 0 else { return }
        state.withLock { $0.unreported -= count }
    }

    /// - Returns: The lines that were not written.
    private func write(_ octets: [UInt8]) -> Int {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if errno != EINTR {
                // The disk is full, or the log has no reader any more.
                return rest.count { $0 == UInt8(ascii: "\n") }
            }
        }
        return 0
    }
}
