import HTTPServer
import NativeSSO

/// The broker's metrics. The set of series is fixed at compile time.
package final class BrokerMetrics: Sendable {
    private let inFlight = Counter()
    private let requests: [GrantLabel: [OutcomeLabel: Counter]]
    private let durations: [GrantLabel: Histogram]
    private let refusals: [String: Counter]
    /// Refusals that the audit left out. The log and the metrics have them.
    let sampledOut = Counter()
    private let logouts: [OutcomeLabel: Counter]
    private let endedSessions: [EndLabel: Counter]
    private let revokedGrants = Counter()
    /// Grants that reuse detection revoked.
    let reusedGrants = Counter()
    /// Refreshes that gave the app the successor of its token again.
    let redeliveries = Counter()
    private let sources: [any MetricSource]

    package init(sources: [any MetricSource] = []) {
        self.sources = sources
        requests = Self.byLabel { _ in Self.byLabel { (_: OutcomeLabel) in Counter() } }
        durations = Self.byLabel { _ in Histogram() }
        logouts = Self.byLabel { _ in Counter() }
        endedSessions = Self.byLabel { _ in Counter() }
        refusals = Dictionary(RefusalRow.all.map { ($0.row.reason, Counter()) }) { first, _ in first }
    }

    private static func byLabel<Label: CaseIterable & Hashable, Value>(_ make: (Label) -> Value) -> [Label: Value] {
        Dictionary(Label.allCases.map { ($0, make($0)) }) { first, _ in first }
    }

    func requestBegan() { inFlight.add() }

    func requestEnded(grant: GrantLabel, outcome: OutcomeLabel, reason: String?, _ duration: Duration) {
        inFlight.add(-1)
        requests[grant]?[outcome]?.add()
        durations[grant]?.record(microseconds: duration.microseconds)
        if let reason { refusals[reason]?.add() }
    }

    func logoutEnded(_ outcome: LogoutOutcome) {
        switch outcome {
        case .success(let sessions):
            logouts[.granted]?.add()
            endedSessions[.logout]?.add(sessions)
        case .failure(let error):
            logouts[error.label]?.add()
            if let refusal = error.refusal { refused(refusal) }
        }
    }

    /// What a revocation by an app ended.
    func ended(_ ended: Revocation.Ended) {
        endedSessions[.revocation]?.add(ended.sessions)
        revokedGrants.add(ended.grants)
    }

    /// What a global token revocation or a security event ended.
    func ended(_ sessions: Int64, by label: EndLabel) { endedSessions[label]?.add(sessions) }

    /// For a request that is in no other count.
    func refused(_ refusal: Refusal) { refusals[refusal.reason]?.add() }

    /// Prometheus text exposition format 0.0.4.
    package var text: String {
        var text = PrometheusText()
        text.counters(
            "requests_total", "Requests to the public and the backchannel listener.",
            GrantLabel.allCases.flatMap { grant in
                OutcomeLabel.allCases.map { outcome in
                    let labels = [("grant", grant.rawValue), ("outcome", outcome.rawValue)]
                    return (labels, requests[grant]?[outcome]?.value ?? 0)
                }
            })
        text.counters(
            "refusals_total", "Refused requests by reason.",
            refusals.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], $0.value.value) })
        text.counters(
            "audit_events_sampled_out_total", "Refusals that the audit left out because there were too many alike.",
            [([], sampledOut.value)])
        text.family("requests_in_flight", "Requests in progress.", .gauge)
        text.sample("requests_in_flight", [], Double(inFlight.value))
        text.family("request_duration_seconds", "Time from the complete request to the answer.", .histogram)
        for grant in GrantLabel.allCases {
            if let histogram = durations[grant] {
                text.histogram("request_duration_seconds", [("grant", grant.rawValue)], histogram)
            }
        }
        text.counters(
            "logouts_total", "Requests to the back-channel logout endpoint.",
            OutcomeLabel.allCases.map {
                ([("outcome", $0 == .granted ? "ended" : $0.rawValue)], logouts[$0]?.value ?? 0)
            })
        text.counters(
            "sessions_ended_total", "Sessions that a logout, a revocation or a security event ended.",
            EndLabel.allCases.map { ([("by", $0.rawValue)], endedSessions[$0]?.value ?? 0) })
        text.counters(
            "grants_revoked_total", "Grants that a revocation by their app, or the reuse of a refresh token, ended.",
            [([("by", "revocation")], revokedGrants.value), ([("by", "reuse")], reusedGrants.value)])
        text.counters(
            "redeliveries_total", "Refreshes that gave an app the successor of its token again.",
            [([], redeliveries.value)])
        var family = ""
        for sample in sources.flatMap(\.samples) {
            let name = sample.name.description
            if name != family { text.family(name, sample.help.description, sample.kind) }
            family = name
            guard let value = sample.value else { continue }
            text.sample(name, sample.labels.map { ($0.name.description, $0.value) }, value)
        }
        return text.text
    }
}
