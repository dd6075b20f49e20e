import Synchronization

/// One thing that must be so before this process should get requests.
public protocol ReadinessCheck: Sendable {
    /// For the reader of `/readyz`: a component, or an issuer from the configuration.
    var name: String { get }

    /// `nil`: it is so. Otherwise a reason code. Answers from what is known or within about a second: the caller waits.
    func problem() async -> StaticString?
}

/// Whether this process should get requests: every check passes, and it is not about to stop.
public final class Readiness: Sendable {
    private let checks: [any ReadinessCheck]
    private let isDraining = Atomic(false)

    public init(checks: [any ReadinessCheck]) {
        self.checks = checks
    }

    /// From now on not ready, whatever the checks say. First step of a stop, so that a load balancer looks elsewhere.
    func drain() { isDraining.store(true, ordering: .releasing) }

    struct Report: Sendable {
        /// In the order in which they were given.
        let results: [(name: String, problem: StaticString?)]
        var isReady: Bool { results.allSatisfy { $0.problem == nil } }
    }

    func report() async -> Report {
        var results: [(name: String, problem: StaticString?)] = []
        for check in checks { results.append((check.name, await check.problem())) }
        if isDraining.load(ordering: .acquiring) { results.append(("process", "draining")) }
        return Report(results: results)
    }
}
