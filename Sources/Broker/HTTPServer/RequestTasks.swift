import NIOCore
import Synchronization

/// The requests of one connection that are being answered. Each has its own task, which begins on the connection's
/// event loop as soon as the request has arrived.
///
/// No task lives as long as the connection: it would keep the memory of its deepest call, some 20 KiB for an exchange,
/// even while the connection is idle.
final class RequestTasks: Sendable {
    private struct State {
        var running: [(number: Int, task: Task<Void, Never>?)] = []
        var begun = 0
        var isCancelled = false
        var isConnectionClosed = false
        var hasEnded = false

        /// Whether this is the end. Once.
        mutating func takeEnd() -> Bool {
            guard isConnectionClosed, running.isEmpty, !hasEnded else { return false }
            hasEnded = true
            return true
        }
    }

    private let responder: any Responder
    private let executor: EventLoopExecutor
    private let onEnd: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter onEnd: Called once, when the connection is closed and every begun request is answered. A stream's
    ///   fault may still arrive after that; no client gets its answer.
    init(_ responder: any Responder, on executor: EventLoopExecutor, onEnd: @escaping @Sendable () -> Void) {
        self.responder = responder
        self.executor = executor
        self.onEnd = onEnd
    }

    /// Begins to answer what arrived. On the event loop.
    ///
    /// - Parameter channel: A connection of HTTP/1, or a stream of HTTP/2. Takes an ``HTTPAnswer``.
    ///   `nil`: the stream ended.
    func begin(_ arrival: Arrival, on channel: (any Channel)?) {
        let number = state.withLock { state in
            state.begun += 1
            state.running.append((state.begun, nil))
            return state.begun
        }
        let task = executor.begin { [self] in
            let answer = await responder.answer(arrival)
            channel?.writeAndFlush(answer, promise: nil)
            ended(number)
        }
        let isCancelled = state.withLock { state in
            // It may have ended already.
            if let index = state.running.firstIndex(where: { $0.number == number }) { state.running[index].task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func ended(_ number: Int) {
        let isEnded = state.withLock { state in
            if state.running.count > 1 { state.running.removeAll { $0.number == number } } else { state.running = [] }
            return state.takeEnd()
        }
        if isEnded { onEnd() }
    }

    /// Nothing more arrives. Requests that began run to their end, also when the client is gone.
    func connectionClosed() {
        let isEnded = state.withLock { state in
            state.isConnectionClosed = true
            return state.takeEnd()
        }
        if isEnded { onEnd() }
    }

    /// Cancels the tasks of all requests, also of later ones.
    func cancel() {
        let tasks = state.withLock { state in
            state.isCancelled = true
            return state.running.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }
}
