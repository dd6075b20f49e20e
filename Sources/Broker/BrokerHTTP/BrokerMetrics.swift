import HTTPServer
import NativeSSO

/// The broker's metrics. The set of series is fixed at compile time.
package final class BrokerMetrics: Sendable {
    private let inFlight = Counter()
    private let requests: [GrantLabel: [OutcomeLabel: Counter]]
    private let durations: [GrantLabel: Histogram]
    private let refusals: [String: Counter]
    private let sampledOut = Counter()
    private let logouts: [LogoutLabel: Counter]
    private let endedSessions: [EndLabel: Counter]
    private let revokedGrants = Counter()
    private let reusedGrants = Counter()
    private let redeliveries = Counter()
    private let unreadEvents = Counter()
    private let sources: [any MetricSource]

    package init(sources: [any MetricSource] = []) {
        self.sources = sources
        requests = Self.byLabel { _ in Self.byLabel { (_: OutcomeLabel) in Counter() } }
        durations = Self.byLabel { _ in Histogram() }
        logouts = Self.byLabel { _ in Counter() }
        endedSessions = Self.byLabel { _ in Counter() }
        refusals = Dictionary(RefusalRow.all.map { ($0.row.reason, Counter()) }) { first, _ in first }
    }

    private static func byLabel<Label: CaseIterable & Hashable, Value>(
        _ make: (Label) -> Value
    ) -> [Label: Value] {
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
        logouts[LogoutLabel(outcome)]?.add()
        switch outcome {
        case .success(let sessions): endedSessions[.logout]?.add(sessions)
        case .failure(let error): if let refusal = error.refusal { refused(refusal) }
        }
    }

    /// What a revocation by an app ended.
    func ended(_ ended: Revocation.Ended) {
        endedSessions[.revocation]?.add(ended.sessions)
        revokedGrants.add(ended.grants)
    }

    /// What a global token revocation or a security event ended.
    func ended(_ sessions: Int64, by label: EndLabel) { endedSessions[label]?.add(sessions) }

    /// Reuse detection revoked a grant.
    func reuseRevokedGrant() { reusedGrants.add() }

    /// A refresh gave the app the successor of its token again.
    func redelivered() { redeliveries.add() }

    /// What a resource server said of the events that it got.
    func polled(failures: Int) { unreadEvents.add(Int64(failures)) }

    /// For a request that is in no other count.
    func refused(_ refusal: Refusal) { refusals[refusal.reason]?.add() }

    /// The audit left out a refusal. The log and the metrics have it.
    func auditEventSampledOut() { sampledOut.add() }

    /// Prometheus text exposition format 0.0.4.
    package var text: String {
        var text = PrometheusText()
        text.family("requests_total", "Requests to the public and the backchannel listener.", .counter)
        for grant in GrantLabel.allCases {
            for outcome in OutcomeLabel.allCases {
                text.sample(
                    "requests_total", [("grant", grant.rawValue), ("outcome", outcome.rawValue)],
                    requests[grant]?[outcome]?.value ?? 0)
            }
        }
        text.family("refusals_total", "Refused requests by reason.", .counter)
        for reason in refusals.keys.sorted() {
            text.sample("refusals_total", [("reason", reason)], refusals[reason]?.value ?? 0)
        }
        text.family(
            "audit_events_sampled_out_total", "Refusals that the audit left out because there were too many alike.",
            .counter)
        text.sample("audit_events_sampled_out_total", [], sampledOut.value)
        text.family("requests_in_flight", "Requests in progress.", .gauge)
        text.sample("requests_in_flight", [], inFlight.value)
        text.histogramFamily("request_duration_seconds", "Time from the complete request to the answer.")
        for grant in GrantLabel.allCases {
            if let histogram = durations[grant] {
                text.histogram("request_duration_seconds", [("grant", grant.rawValue)], histogram)
            }
        }
        text.family("logouts_total", "Requests to the back-channel logout endpoint.", .counter)
        for label in LogoutLabel.allCases {
            text.sample("logouts_total", [("outcome", label.rawValue)], logouts[label]?.value ?? 0)
        }
        text.family("sessions_ended_total", "Sessions that a logout, a revocation or a security event ended.", .counter)
        for label in EndLabel.allCases {
            text.sample("sessions_ended_total", [("by", label.rawValue)], endedSessions[label]?.value ?? 0)
        }
        text.family(
            "grants_revoked_total", "Grants that a revocation by their app, or the reuse of a refresh token, ended.",
            .counter)
        text.sample("grants_revoked_total", [("by", "revocation")], revokedGrants.value)
        text.sample("grants_revoked_total", [("by", "reuse")], reusedGrants.value)
        text.family(
            "redeliveries_total", "Refreshes that gave an app the successor of its token again.", .counter)
        text.sample("redeliveries_total", [], redeliveries.value)
        text.family("events_unread_total", "Events that a resource server could not process (setErrs).", .counter)
        text.sample("events_unread_total", [], unreadEvents.value)
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
