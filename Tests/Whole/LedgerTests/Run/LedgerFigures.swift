/// What a run has measured.
struct LedgerFigures: Sendable {
    struct Failover: Sendable {
        let killedAt: Duration
        /// The server takes writes.
        let promotedAt: Duration
        /// Commits wait for a standby again.
        let rejoinedAt: Duration
    }

    var failovers: [Failover] = []
    /// One for each time a broker was killed.
    var downtimes: [Downtime] = []
    var sessionsEnded = 0

    /// From a moment of each failover to the first success after its kill through a broker; `nil` if there was none.
    func timesToFirstSuccess(in entries: [LedgerEntry], since moment: KeyPath<Failover, Duration>) -> [Duration?] {
        failovers.map { failover in
            entries.filter { $0.granted != nil && $0.sentAt > failover.killedAt }.map(\.answeredAt).min()
                .map { max($0 - failover[keyPath: moment], .zero) }
        }
    }

    /// A line each for what was done and what it took.
    func report(_ entries: [LedgerEntry], _ violations: Set<Violation>) -> String {
        func count(_ isCounted: (LedgerEntry) -> Bool) -> Int { entries.count(where: isCounted) }
        let span = (entries.map(\.answeredAt).max() ?? .zero) - (entries.map(\.sentAt).min() ?? .zero)
        let slowest = entries.filter { $0.broker != nil }.map { $0.answeredAt - $0.sentAt }.max() ?? .zero
        func times(since moment: KeyPath<Failover, Duration>) -> String {
            timesToFirstSuccess(in: entries, since: moment).map { $0.map(\.rounded) ?? "never" }.joined(separator: ", ")
        }
        let lost = violations.count { if case .honestAppRefused = $0 { false } else { true } }
        return """
            ledger: \(entries.count) requests in \(span.rounded) s, \(count(\.isAcknowledged)) acknowledged
            ledger: \(count { $0.granted != nil }) granted, \(count { $0.outcome == .refused }) refused, \
            \(count { $0.outcome == .unavailable }) unavailable, \(count { $0.outcome == .unknown }) without an answer, \
            \(count(\.isLost)) answers lost on purpose
            ledger: \(failovers.count) failovers, \(downtimes.count) brokers killed, \(sessionsEnded) sessions ended, \
            \(count { $0.isReplay && $0.outcome == .refused }) replays refused
            ledger: promotion to first success \(times(since: \.promotedAt)) s, \
            kill to first success \(times(since: \.killedAt)) s
            ledger: slowest answer \(slowest.rounded) s
            ledger: \(lost) losses, \(violations.count - lost) honest apps refused
            """
    }
}

extension Duration {
    /// In seconds, to the hundredth.
    var rounded: String {
        let hundredths = Int((self / .milliseconds(10)).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
