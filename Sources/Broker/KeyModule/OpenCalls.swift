import Dispatch
import Synchronization

/// Calls to another process or to a token, each until its deadline. A call has one answer: the first.
final class OpenCalls<Failure: Error>: Sendable {
    typealias Answer = Result<[UInt8], Failure>

    private struct Call {
        let deadline: ContinuousClock.Instant
        var answer: Answer?
        var waiting: CheckedContinuation<Answer, Never>?
    }

    private struct State {
        var calls: [UInt32: Call] = [:]
        var last: UInt32 = 0
    }

    private let patience: Duration
    private let most: Int
    private let late: Failure
    private let state = Mutex(State())

    private static var look: DispatchTimeInterval { .milliseconds(200) }

    /// - Parameters:
    ///   - patience: From the beginning of a call to its deadline.
    ///   - most: Calls at once.
    ///   - late: The answer at the deadline.
    init(patience: Duration, most: Int, late: Failure) {
        self.patience = patience
        self.most = most
        self.late = late
    }

    /// The number of a new call; `nil`: there are too many.
    func begin() -> UInt32? {
        let deadline = ContinuousClock.now + patience
        return state.withLock { state in
            guard state.calls.count < most else { return nil }
            repeat { state.last &+= 1 } while state.calls[state.last] != nil
            state.calls[state.last] = Call(deadline: deadline)
            return state.last
        }
    }

    /// Does nothing for a call that has its answer, or that nobody waits for any more.
    func give(_ answers: [(Answer, number: UInt32)]) {
        let waiting = state.withLock { state in
            answers.compactMap { answer, number -> (CheckedContinuation<Answer, Never>, Answer)? in
                guard let waiting = state.calls[number]?.waiting else {
                    if state.calls[number]?.answer == nil { state.calls[number]?.answer = answer }
                    return nil
                }
                state.calls[number] = nil
                return (waiting, answer)
            }
        }
        for (waiting, answer) in waiting { waiting.resume(returning: answer) }
    }

    func giveAll(_ answer: Answer) { give(state.withLock { $0.calls.keys.map { (answer, $0) } }) }

    /// Waits for the answer. Once for each call.
    func answer(to number: UInt32) async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Answer? in
                guard let call = state.calls[number] else { return .failure(late) }
                guard let answer = call.answer else {
                    state.calls[number]?.waiting = continuation
                    return nil
                }
                state.calls[number] = nil
                return answer
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Ends calls at their deadlines, while `owner` lives.
    /// - Parameter report: Called when somebody waited in vain.
    func watch<Owner: AnyObject & Sendable>(for owner: Owner, _ report: @escaping @Sendable (Owner) -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.look) { [self, weak owner] in
            guard let owner else { return }
            if endLate() { report(owner) }
            watch(for: owner, report)
        }
    }

    private func endLate() -> Bool {
        let now = ContinuousClock.now
        let ended = state.withLock { state in
            let ended = state.calls.filter { $0.value.deadline <= now }
            for number in ended.keys { state.calls[number] = nil }
            return ended.values.compactMap(\.waiting)
        }
        for waiting in ended { waiting.resume(returning: .failure(late)) }
        return !ended.isEmpty
    }
}
