import Dispatch
import Synchronization

/// One call to another process or to a token.
final class OpenCall: Sendable {
    typealias Answer = Result<[UInt8], KeyError>

    private enum State {
        case open
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    let number: UInt32
    fileprivate let deadline: ContinuousClock.Instant
    private let state = Mutex(State.open)

    fileprivate init(number: UInt32, deadline: ContinuousClock.Instant) {
        self.number = number
        self.deadline = deadline
    }

    /// Waits for the answer. Once for each call.
    var answer: Answer {
        get async {
            // Often it is there already: no continuation then.
            if let given { return given }
            return await withCheckedContinuation { continuation in
                let given = state.withLock { state -> Answer? in
                    if case .answered(let answer) = state { return answer }
                    state = .awaited(continuation)
                    return nil
                }
                if let given { continuation.resume(returning: given) }
            }
        }
    }

    private var given: Answer? {
        state.withLock { if case .answered(let answer) = $0 { answer } else { nil } }
    }

    /// Called once: whoever calls it has taken the call out of the table.
    /// - Returns: Whether somebody waited for it.
    @discardableResult
    fileprivate func give(_ answer: Answer) -> Bool {
        let before = state.withLock { state in
            defer { state = .answered(answer) }
            return state
        }
        guard case .awaited(let continuation) = before else { return false }
        continuation.resume(returning: answer)
        return true
    }
}

/// Calls that have no answer yet, each until its deadline. A call has one answer: the first.
final class OpenCalls: Sendable {
    private struct State {
        var calls: [UInt32: OpenCall] = [:]
        var last: UInt32 = 0
    }

    private let patience: Duration
    private let most: Int
    private let late: OpenCall.Answer
    private let state = Mutex(State())

    private static var look: DispatchTimeInterval { .milliseconds(200) }

    /// - Parameters:
    ///   - patience: From the beginning of a call to its deadline.
    ///   - most: Calls without an answer at once.
    ///   - late: The answer at the deadline.
    init(patience: Duration, most: Int, late: KeyError) {
        self.patience = patience
        self.most = most
        self.late = .failure(late)
    }

    /// A new call; `nil`: there are too many.
    func begin() -> OpenCall? {
        let deadline = ContinuousClock.now + patience
        return state.withLock { state in
            guard state.calls.count < most else { return nil }
            repeat { state.last &+= 1 } while state.calls[state.last] != nil
            let call = OpenCall(number: state.last, deadline: deadline)
            state.calls[state.last] = call
            return call
        }
    }

    /// Does nothing for a call that has its answer.
    func give(_ answers: [(OpenCall.Answer, number: UInt32)]) {
        let calls = state.withLock { state in answers.map { state.calls.removeValue(forKey: $0.number) } }
        for (call, (answer, _)) in zip(calls, answers) { call?.give(answer) }
    }

    func giveAll(_ answer: OpenCall.Answer) {
        let calls = state.withLock { state in
            defer { state.calls = [:] }
            return state.calls.values
        }
        for call in calls { call.give(answer) }
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
            let ended = state.calls.values.filter { $0.deadline <= now }
            for call in ended { state.calls[call.number] = nil }
            return ended
        }
        return ended.count { $0.give(late) } > 0
    }
}
