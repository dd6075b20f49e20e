import NIOCore

/// How long the client may take for its current step. Pure: times are arguments.
struct ReadDeadline {
    enum Phase: Equatable {
        case idle
        case header
        case body
    }

    private(set) var phase = Phase.idle
    private var owed = 0
    private let limits: ListenerLimits

    /// `nil` while the broker owes an answer.
    private(set) var deadline: NIODeadline?

    init(limits: ListenerLimits, now: NIODeadline) {
        self.limits = limits
        restart(now)
    }

    /// Further parts of a head do not extend the deadline.
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

/// Closes a connection whose client does not read: the kernel must take each answer within the limit.
final class WriteDeadline {
    private let limit: TimeAmount
    private let timer = DeadlineTimer()
    private let share: BufferShare?
    private var pending = 0

    /// - Parameter share: Counts the octets that the kernel has not taken; `nil` where each stream counts its own
    ///   answers.
    init(limit: TimeAmount, share: BufferShare?) {
        self.limit = limit
        self.share = share
    }

    /// For the end of a channel.
    func cancel() { timer.cancel() }

    /// Writes the octets, and watches until the kernel has taken them.
    func write(_ octets: ByteBuffer, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        pending += 1
        if pending == 1 { arm(context) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let count = octets.readableBytes
        share?.takeInAnyCase(count)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.share?.giveBack(count)
            self.wrote(context)
        }
        context.write(NIOAny(octets), promise: written)
    }

    /// Answers are written in order. Each completed write is progress, and restarts the limit for the next answer.
    private func wrote(_ context: ChannelHandlerContext) {
        pending -= 1
        pending == 0 ? timer.clear() : arm(context)
    }

    private func arm(_ context: ChannelHandlerContext) {
        timer.set(.now() + limit, context) { context.close(promise: nil) }
    }
}

/// One deadline on an event loop. Moving it later costs nothing: the scheduled wake-up checks the deadline again.
final class DeadlineTimer {
    private var deadline: NIODeadline?
    private var planned: (at: NIODeadline, task: Scheduled<Void>)?
    private var action: () -> Void = {}

    func set(_ deadline: NIODeadline, _ context: ChannelHandlerContext, action: @escaping () -> Void) {
        self.deadline = deadline
        self.action = action
        if let planned, planned.at <= deadline { return }
        planned?.task.cancel()
        plan(deadline, context)
    }

    /// Removes the deadline. A scheduled wake-up then does nothing.
    func clear() {
        deadline = nil
        action = {}
    }

    /// For the end of a channel: releases everything.
    func cancel() {
        planned?.task.cancel()
        planned = nil
        clear()
    }

    private func plan(_ deadline: NIODeadline, _ context: ChannelHandlerContext) {
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.wake(context) }
        planned = (deadline, task)
    }

    private func wake(_ context: ChannelHandlerContext) {
        planned = nil
        guard let deadline else { return }
        guard deadline <= .now() else { return plan(deadline, context) }
        let action = action
        clear()
        action()
    }
}
