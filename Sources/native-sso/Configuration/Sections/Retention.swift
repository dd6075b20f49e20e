import NativeSSO
import Registry

extension Configuration {
    /// `retention`: what is kept of what is over, and for how long.
    struct Retention: Sendable, Hashable {
        /// After the end of a session.
        let sessions: Seconds
        /// After the end of a month.
        let audit: Seconds
        /// Between two sweeps, of however many brokers.
        let interval: Seconds

        var policy: RetentionPolicy { RetentionPolicy(sessions: sessions, audit: audit) }
    }
}

extension Configuration.Retention {
    init(reading section: Section) {
        // While a subject token may still be presented, the row of its session is what refuses it.
        let sessions = section.duration(
            "sessions", default: RetentionPolicy.shortestForSessions,
            in: RetentionPolicy.shortestForSessions ... .days(3650))
        let audit = section.duration(
            "audit", default: .days(400), in: RetentionPolicy.shortestForAudit ... .days(3650))
        let interval = section.duration("interval", default: .hours(1), in: 60 ... .days(7))
        self.init(sessions: sessions, audit: audit, interval: interval)
    }
}
