import NIOCore
import Synchronization

/// Passes elements from an event loop to one task, in order.
///
/// NIO's own bridge traps if it is dropped unused. This can happen to a connection that is accepted at the moment in
/// which the listener stops. A mailbox may be dropped at any time.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements = CircularBuffer<Element>(initialCapacity: 2)
        var isFinished = false
        var waiting: CheckedContinuation<Element?, Never>?
    }

    private let state = Mutex(State())

    func put(_ element: Element) {
        let waiting = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            guard let waiting = state.waiting else {
                state.elements.append(element)
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume(returning: element)
    }

    /// Ends the mailbox. Elements already in it can still be taken.
    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: nil)
    }

    /// The next element; `nil` at the end. For one task at a time.
    func next() async -> Element? {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state -> Element?? in
                if let element = state.elements.popFirst() { return .some(element) }
                if state.isFinished { return .some(nil) }
                state.waiting = continuation
                return nil
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}
