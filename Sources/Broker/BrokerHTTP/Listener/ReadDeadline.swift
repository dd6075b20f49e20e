import NIOCore

/// How long the client may take for what it is doing now. Pure: times are arguments.
struct ReadDeadline {
    enum Phase: Equatable {
        case idle
        case header
        case body
    }

    private(set) var phase = Phase.idle
    private var owed = 0
    private let limits: ListenerLimits

    /// `nil` while we owe an answer: then the time is ours.
    private(set) var deadline: NIODeadline?

    init(limits: ListenerLimits, now: NIODeadline) {
        self.limits = limits
        restart(now)
    }

    /// More of it buys no time.
    mutating func receivedPartOfHead(now: NIODeadline) {
        if phase == .idle { enter(.header, now) }
    }

    mutating func receivedHead(now: NIODeadline) { enter(.body, now) }

    mutating func receivedEnd(now: NIODeadline) {
        owed += 1
        enter(.idle, now)
    }

    mutating func answered(now: NIODeadline) {
        if owed > 0 { owed -= 1 }  // a fault is answered too, and owes nothing here
        restart(now)
    }

    private mutating func enter(_ phase: Phase, _ now: NIODeadline) {
        self.phase = phase
        restart(now)
    }

    private mutating func restart(_ now: NIODeadline) {
        guard owed == 0 else {
            deadline = nil
            return
        }
        switch phase {
        case .idle: deadline = now + limits.idleTimeout
        case .header: deadline = now + limits.headerTimeout
        case .body: deadline = now + limits.bodyTimeout
        }
    }
}
