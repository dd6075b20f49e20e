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

    /// From each promotion to the first success through a broker; `nil` if there was none.
    func timesToFirstSuccess(in entries: [LedgerEntry]) -> [Duration?] {
        failovers.map { failover in
            entries.filter { $0.granted != nil && $0.sentAt > failover.killedAt }.map(\.answeredAt).min()
                .map { max($0 - failover.promotedAt, .zero) }
        }
    }

    /// From each kill to the first success.
    func outages(in entries: [LedgerEntry]) -> [Duration?] {
        failovers.map { failover in
            entries.filter { $0.granted != nil && $0.sentAt > failover.killedAt }.map(\.answeredAt).min()
                .map { $0 - failover.killedAt }
        }
    }

    /// A line each for what was done and what it took.
    func report(_ entries: [LedgerEntry], _ violations: Set<Violation>) -> String {
        func count(_ isCounted: (LedgerEntry) -> Bool) -> Int { entries.count(where: isCounted) }
        let span = (entries.map(\.answeredAt).max() ?? .zero) - (entries.map(\.sentAt).min() ?? .zero)
        let slowest = entries.filter { $0.broker != nil }.map { $0.answeredAt - $0.sentAt }.max() ?? .zero
        let lost = violations.count { if case .honestAppRefused = $0 { false } else { true } }
        return """
            ledger: \(entries.count) requests in \(span.rounded) s, \(count(\.isAcknowledged)) acknowledged
            ledger: \(count { $0.granted != nil }) granted, \(count { $0.outcome == .refused }) refused, \
            \(count { $0.outcome == .unavailable }) unavailable, \(count { $0.outcome == .unknown }) without an answer, \
            \(count(\.isLost)) answers lost on purpose
            ledger: \(failovers.count) failovers, \(downtimes.count) brokers killed, \(sessionsEnded) sessions ended, \
            \(count { $0.isReplay && $0.outcome == .refused }) replays refused
            ledger: promotion to first success \(Self.text(timesToFirstSuccess(in: entries))) s, \
            kill to first success \(Self.text(outages(in: entries))) s
            ledger: slowest answer \(slowest.rounded) s
            ledger: \(lost) losses, \(violations.count - lost) honest apps refused
            """
    }

    private static func text(_ times: [Duration?]) -> String {
        times.map { $0.map(\.rounded) ?? "never" }.joined(separator: ", ")
    }
}

extension Duration {
    /// In seconds, to the hundredth.
    var rounded: String {
        let hundredths = Int((self / .milliseconds(10)).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
