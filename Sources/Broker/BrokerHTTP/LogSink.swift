import Dispatch
import Glibc
import Synchronization

/// Where log lines go: a file descriptor that may be slow, or stuck.
///
/// The caller never waits. Lines gather in a buffer, and one thread writes it out 25 ms after the first line: waking
/// the thread for each line would cost more than the line. When the buffer is full, lines are dropped and counted. The
/// log reports the number once half of the buffer is free.
package final class LogSink: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var isWriterDue = false
        var dropped = 0
        var droppedSinceLastNote = 0
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

    package static let standardOutput = LogSink(fileDescriptor: STDOUT_FILENO)
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

    /// - Parameters:
    ///   - line: With its line end.
    ///   - isUrgent: Not to wait for others.
    ///   - dropNote: The line that reports a number of lost lines.
    func write(_ line: [UInt8], isUrgent: Bool, dropNote: (Int) -> [UInt8]) {
        let wakesWriter = state.withLock { state -> Bool in
            noteDrops(&state, dropNote)
            guard state.buffer.count + line.count <= capacity else {
                state.dropped += 1
                state.droppedSinceLastNote += 1
                return false
            }
            state.buffer.append(contentsOf: line)
            defer { state.isWriterDue = true }
            return isUrgent || !state.isWriterDue
        }
        guard wakesWriter else { return }
        queue.asyncAfter(deadline: isUrgent ? .now() : .now() + Self.delay) { self.writeOut() }
    }

    /// Only when half of the buffer is free, so that a stuck log does not fill with notes.
    private func noteDrops(_ state: inout State, _ note: (Int) -> [UInt8]) {
        guard state.droppedSinceLastNote > 0, state.buffer.count < capacity / 2 else { return }
        state.buffer.append(contentsOf: note(state.droppedSinceLastNote))
        state.droppedSinceLastNote = 0
    }

    private func writeOut() {
        while true {
            let lines = state.withLock { state -> [UInt8] in
                if state.buffer.isEmpty { state.isWriterDue = false }
                defer { state.buffer = [] }
                return state.buffer
            }
            if lines.isEmpty { return }
            write(lines)
        }
    }

    private func write(_ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if errno != EINTR {
                return  // the log has no reader any more
            }
        }
    }
}
