import NativeSSO
import Synchronization

/// `CodeRegister` behind a lock. No proof is used up here, and no result runs out.
final class InMemoryCodeRegister: CodeRegister {
    private enum Standing {
        case asked(UniqueID, isSent: Bool)
        case kept([UInt8])
        case answered([UInt8])
        case lost
    }

    private struct Row {
        let binding: CodeBinding
        var standing: Standing
    }

    private struct State {
        var rows: [CodeName: Row] = [:]
        var failures: [Call: (error: PortError, point: FailurePoint)] = [:]
        var refusesToSend = false
        var settled: [CodeSettlement] = []
        var entries: [CodeEntry] = []
    }

    enum Call: Sendable { case claim, send, settle, finish, forget }

    /// Before or after the write. After it, only the answer is lost.
    enum FailurePoint: Sendable, CaseIterable { case before, after }

    private let state = Mutex(State())

    /// The claimed entries, and how claims were settled.
    var entries: [CodeEntry] { state.withLock { $0.entries } }
    var settlements: [CodeSettlement] { state.withLock { $0.settled } }
    /// The stored answers of all codes.
    var answers: [[UInt8]] {
        state.withLock { state in
            state.rows.values.compactMap { row in
                switch row.standing {
                case .kept(let answer), .answered(let answer): answer
                case .asked, .lost: nil
                }
            }
        }
    }

    /// What every further such call throws; `nil`: they work again.
    func fail(_ call: Call, _ point: FailurePoint = .before, with failure: PortError?) {
        state.withLock { $0.failures[call] = failure.map { ($0, point) } }
    }

    /// Releases the reservations of unsent codes.
    func letReservationsRunOut() {
        state.withLock { state in
            for (code, row) in state.rows {
                if case .asked(_, isSent: false) = row.standing { state.rows[code] = nil }
            }
        }
    }

    /// As if every reservation were another's by then.
    func refuseToSend() { state.withLock { $0.refusesToSend = true } }

    func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim {
        state.withLock { $0.entries.append(entry) }
        return try call(.claim) { state in
            guard let row = state.rows[entry.code] else {
                state.rows[entry.code] = Row(
                    binding: entry.binding, standing: .asked(entry.requestID, isSent: false))
                return .granted
            }
            if case .asked(_, isSent: false) = row.standing { return .inFlight }
            guard row.binding == entry.binding else { return .used }
            switch row.standing {
            case .asked: return .inFlight
            case .kept(let answer), .answered(let answer): return .kept(answer)
            case .lost: return .used
            }
        }
    }

    func send(
        _ code: CodeName, of request: UniqueID, patience: Seconds
    ) async throws(PortError) -> Bool {
        try call(.send) { state in
            guard !state.refusesToSend, case .asked(request, _)? = state.rows[code]?.standing else { return false }
            state.rows[code]?.standing = .asked(request, isSent: true)
            return true
        }
    }

    func forget(_ code: CodeName, _ binding: CodeBinding) async throws(PortError) -> Bool {
        try call(.forget) { state in
            guard case .kept? = state.rows[code]?.standing else { return false }
            state.rows[code]?.standing = .lost
            return true
        }
    }

    func settle(
        _ code: CodeName, of request: UniqueID, as settlement: CodeSettlement
    ) async throws(PortError) -> Bool {
        state.withLock { $0.settled.append(settlement) }
        return try call(.settle) { state in
            if case .kept(let present)? = state.rows[code]?.standing { return settlement == .kept(present) }
            guard case .asked(request, _)? = state.rows[code]?.standing else { return false }
            switch settlement {
            case .released: state.rows[code] = nil
            case .lost: state.rows[code]?.standing = .lost
            case .kept(let answer): state.rows[code]?.standing = .kept(answer)
            case .answered(let answer): state.rows[code]?.standing = .answered(answer)
            }
            return true
        }
    }

    func finish(
        _ code: CodeName, _ binding: CodeBinding, answer: [UInt8]
    ) async throws(PortError) -> [UInt8]? {
        try call(.finish) { state in
            switch state.rows[code]?.standing {
            case .kept:
                state.rows[code]?.standing = .answered(answer)
                return answer
            case .answered(let first): return first
            case .asked, .lost, nil: return nil
            }
        }
    }

    private func call<Value: Sendable>(
        _ call: Call, _ body: (inout State) -> Value
    ) throws(PortError) -> Value {
        try state.withLock { state throws(PortError) in
            let failure = state.failures[call]
            if let failure, failure.point == .before { throw failure.error }
            let value = body(&state)
            if let failure { throw failure.error }
            return value
        }
    }
}
