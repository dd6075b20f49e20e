import NIOConcurrencyHelpers

/// The sessions that ended lately. A ``TokenVerifier`` that has it refuses their access tokens before `exp`.
///
/// Fill it with an ``EndedSessionPoller``. Share one between the verifiers of a process.
public final class EndedSessions: Sendable {
    private struct State {
        /// When each came in.
        var sessions: [String: Duration] = [:]
        /// The same in the order of arrival, from `first` on.
        var order: [(session: String, at: Duration)] = []
        var first = 0
        var lastSuccess: Duration?
        var failures = 0
        var dropped = 0

        var oldest: (session: String, at: Duration)? { first < order.count ? order[first] : nil }

        mutating func removeOldest() {
            guard let oldest else { return }
            sessions[oldest.session] = nil
            first += 1
            // What is gone is at most half of the list.
            if first > 1024, first > order.count / 2 {
                order.removeFirst(first)
                first = 0
            }
        }
    }

    /// What an operator watches.
    public struct Status: Sendable, Hashable {
        /// How many sessions it holds.
        public let count: Int
        /// The time since the broker last answered a poll; nil: it never did.
        public let sinceLastAnswer: Duration?
        /// Failed polls since then.
        public let failures: Int
        /// Sessions that were dropped because there were too many. Their tokens live until `exp`.
        public let dropped: Int
    }

    private let life: Duration
    private let capacity: Int
    private let refusesAfter: Duration?
    private let elapsed: @Sendable () -> Duration
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - life: How long a session is kept: at least the longest life of an access token. The broker allows a day at
    ///     most, and issues tokens of 5 minutes by default.
    ///   - capacity: The most sessions that are kept, some 150 octets each. Beyond it the oldest is dropped.
    ///   - refusesAfter: Refuse every token with a session, with `endedSessionsUnknown`, once the broker has not answered
    ///     a poll for this time. nil, the default: an outage of the broker never refuses a valid token; an ended session's
    ///     token then lives until `exp`.
    ///   - clock: Measures both times.
    public init<C: Clock>(
        life: Duration = .seconds(24 * 3600), capacity: Int = 1_000_000, refusesAfter: Duration? = nil,
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        self.life = life
        self.capacity = max(capacity, 1)
        self.refusesAfter = refusesAfter
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
    }

    /// For metrics and alerts.
    public var status: Status {
        state.withLockedValue { state in
            Status(
                count: state.sessions.count, sinceLastAnswer: state.lastSuccess.map { elapsed() - $0 },
                failures: state.failures, dropped: state.dropped)
        }
    }

    /// Notes the end of a session, by its `session_id`. For ends that come by another way than ``EndedSessionPoller``.
    public func insert(_ session: String) {
        state.withLockedValue { state in
            let now = elapsed()
            while let oldest = state.oldest, now - oldest.at > life { state.removeOldest() }
            guard state.sessions[session] == nil else { return }
            if state.sessions.count == capacity {
                state.removeOldest()
                state.dropped += 1
            }
            state.sessions[session] = now
            state.order.append((session, now))
        }
    }

    func check(_ session: String) throws(VerificationError) {
        let (isEnded, silence) = state.withLockedValue { state in
            let now = elapsed()
            let isEnded = state.sessions[session].map { now - $0 <= life } ?? false
            return (isEnded, now - (state.lastSuccess ?? .zero))
        }
        if isEnded { throw VerificationError(.sessionEnded) }
        if let refusesAfter, silence > refusesAfter { throw VerificationError(.endedSessionsUnknown) }
    }

    func answered() {
        state.withLockedValue { state in
            state.lastSuccess = elapsed()
            state.failures = 0
        }
    }

    /// Returns how many polls in a row have failed.
    func failed() -> Int {
        state.withLockedValue { state in
            state.failures += 1
            return state.failures
        }
    }
}
