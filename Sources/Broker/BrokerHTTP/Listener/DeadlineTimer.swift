import NIOCore

/// One deadline on an event loop. Moving it later costs nothing: the wake-up that is already planned looks again.
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

    /// No deadline. A wake-up that is planned finds nothing to do.
    func clear() {
        deadline = nil
        action = {}
    }

    /// For the end of a channel: lets go of everything.
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
