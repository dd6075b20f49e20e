public import NativeSSO
import Synchronization

/// `CodeRegister` behind a lock; time passes when a test says so.
public final class InMemoryCodeRegister: CodeRegister {
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
        var proofs: Set<ProofID> = []
        var failures: [Call: PortError] = [:]
        var refusesToSend = false
        var settled: [CodeSettlement] = []
        var entries: [CodeEntry] = []
    }

    public enum Call: Sendable, Hashable, CaseIterable { case claim, send, settle, finish, forget }

    private let state = Mutex(State())

    public init() {}

    /// What was asked of it, and how claims were settled.
    public var entries: [CodeEntry] { state.withLock { $0.entries } }
    public var settlements: [CodeSettlement] { state.withLock { $0.settled } }
    /// What is kept now, of all codes.
    public var answers: [[UInt8]] {
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
    public func fail(_ call: Call, with failure: PortError?) { state.withLock { $0.failures[call] = failure } }

    /// What was not sent can be had again.
    public func letReservationsRunOut() {
        state.withLock { state in
            for (code, row) in state.rows {
                if case .asked(_, isSent: false) = row.standing { state.rows[code] = nil }
            }
        }
    }

    /// Nothing is given out any more, and nobody who asks is waited for.
    public func letTimePass() {
        letReservationsRunOut()
        state.withLock { state in for code in state.rows.keys { state.rows[code]?.standing = .lost } }
    }

    /// As if every reservation were another's by then.
    public func refuseToSend() { state.withLock { $0.refusesToSend = true } }

    public func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim {
        try state.withLock { state throws(PortError) in
            state.entries.append(entry)
            if let failure = state.failures[.claim] { throw failure }
            if let proof = entry.proof, !state.proofs.insert(proof.id).inserted { return .proofUsed }
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

    public func send(
        _ code: CodeName, of request: UniqueID, patience: Seconds
    ) async throws(PortError) -> Bool {
        try state.withLock { state throws(PortError) in
            if let failure = state.failures[.send] { throw failure }
            guard !state.refusesToSend, case .asked(request, _)? = state.rows[code]?.standing else { return false }
            state.rows[code]?.standing = .asked(request, isSent: true)
            return true
        }
    }

    public func forget(_ code: CodeName, _ binding: CodeBinding) async throws(PortError) -> Bool {
        try state.withLock { state throws(PortError) in
            if let failure = state.failures[.forget] { throw failure }
            guard let row = state.rows[code], row.binding == binding, case .kept = row.standing else { return false }
            state.rows[code]?.standing = .lost
            return true
        }
    }

    public func settle(
        _ code: CodeName, of request: UniqueID, as settlement: CodeSettlement
    ) async throws(PortError) -> Bool {
        try state.withLock { state throws(PortError) in
            state.settled.append(settlement)
            if let failure = state.failures[.settle] { throw failure }
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

    public func finish(
        _ code: CodeName, _ binding: CodeBinding, answer: [UInt8]
    ) async throws(PortError) -> [UInt8]? {
        try state.withLock { state throws(PortError) in
            if let failure = state.failures[.finish] { throw failure }
            guard let row = state.rows[code], row.binding == binding else { return nil }
            switch row.standing {
            case .kept:
                state.rows[code]?.standing = .answered(answer)
                return answer
            case .answered(let first): return first
            case .asked, .lost: return nil
            }
        }
    }
}
