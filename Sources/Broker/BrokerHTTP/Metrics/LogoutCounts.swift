import NativeSSO

/// What is counted of logouts. A fixed set of series.
final class LogoutCounts: Sendable {
    private let requests: [LogoutLabel: Counter]
    private let sessions = Counter()

    init() {
        requests = Dictionary(LogoutLabel.allCases.map { ($0, Counter()) }) { first, _ in first }
    }

    func note(_ outcome: LogoutOutcome) {
        requests[LogoutLabel(outcome)]?.add()
        if case .success(let count) = outcome { sessions.add(count) }
    }

    func write(to text: inout PrometheusText) {
        text.family("logouts_total", "Requests to the back-channel logout endpoint.", .counter)
        for label in LogoutLabel.allCases {
            text.sample("logouts_total", [("outcome", label.rawValue)], requests[label]?.value ?? 0)
        }
        text.family("sessions_logged_out_total", "Sessions that their identity provider ended.", .counter)
        text.sample("sessions_logged_out_total", [], sessions.value)
    }
}
