import Synchronization

/// What everybody has recorded so far. Entries are only ever added.
final class Ledger: Sendable {
    private let start = ContinuousClock.now
    private let state = Mutex((entries: [LedgerEntry](), acknowledged: 0))

    /// Since the beginning.
    var now: Duration { ContinuousClock.now - start }
    var entries: [LedgerEntry] { state.withLock { $0.entries } }
    /// How many successes and refusals there were so far.
    var acknowledged: Int { state.withLock { $0.acknowledged } }

    func record(_ entry: LedgerEntry) {
        state.withLock { state in
            state.entries.append(entry)
            if entry.isAcknowledged { state.acknowledged += 1 }
        }
    }
}

extension LedgerEntry {
    /// Whether the broker (or the command) has said what happened.
    var isAcknowledged: Bool {
        switch outcome {
        case .granted, .ended, .refused: true
        case .unavailable, .unknown, .unexpected: false
        }
    }
}
