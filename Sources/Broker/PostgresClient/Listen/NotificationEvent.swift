/// What a listener tells.
public enum NotificationEvent: Sendable, Equatable {
    /// LISTEN is in force, for the first time or again. What was sent before is not told: read everything anew.
    case listening
    case notification(payload: String)
}

extension ConnectionPool {
    /// Listens on a channel over a connection of its own, and connects again when that is lost, for as long as the
    /// stream is kept and the pool open.
    ///
    /// A notification is a hint that something changed, never the change: of more than 256 that nobody takes, the oldest
    /// are dropped.
    public func notifications(on channel: StaticString) -> AsyncStream<NotificationEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NotificationEvent.self, bufferingPolicy: .bufferingNewest(256))
        let waker = Waker()
        continuation.onTermination = { _ in waker.wake() }
        core.startListener(Listener(core: core, channel: channel, waker: waker, continuation: continuation))
        return stream
    }
}
