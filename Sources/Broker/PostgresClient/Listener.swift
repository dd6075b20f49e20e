/// The thread of one notification stream.
struct Listener: Sendable {
    let core: LaneCore<Job>
    let channel: StaticString
    let waker: Waker
    let continuation: AsyncStream<NotificationEvent>.Continuation

    /// Interval for checking a silent server.
    private static let probeInterval = Duration.seconds(5)
    private static let probeDeadline = Duration.seconds(2)

    func run() {
        var pause = Duration.milliseconds(20)
        var attempt = 0
        while true {
            let address = core.search.connector.addresses[attempt % core.search.connector.addresses.count]
            do throws(ConnectFailure) {
                let connection = try core.search.connector.connect(to: address)
                pause = .milliseconds(20)
                if listen(on: connection) { break }
            } catch {
                core.search.report(error)
            }
            attempt += 1
            let wait = MonotonicTime.after(pause * Double.random(in: 0.5...1))
            if waker.wait(for: -1, until: wait) == .woken { break }
            pause = min(pause * 2, .seconds(1))
        }
        continuation.finish()
        core.threadEnded(waker)
    }

    /// True if the listener was stopped, false if the connection is unusable.
    private func listen(on connection: Connection) -> Bool {
        do throws(PostgresError) {
            try ask(connection)
            continuation.yield(.listening)
            while true {
                switch waker.wait(for: connection.socket, until: .after(Self.probeInterval)) {
                case .woken: return true
                case .ready: break
                case .timedOut: try ask(connection)
                }
                for notification in try connection.notifications() {
                    continuation.yield(.notification(payload: notification.payload))
                }
            }
        } catch {
            return false
        }
    }

    /// Repeating LISTEN has no effect, so it also serves as the probe. It shows in `pg_stat_activity` as the
    /// session's purpose.
    private func ask(_ connection: Connection) throws(PostgresError) {
        try connection.run("LISTEN \(quotedChannel)", deadline: .after(Self.probeDeadline))
    }

    private var quotedChannel: String { "\"" + channel.description.replacing("\"", with: "\"\"") + "\"" }
}

package enum NotificationEvent: Sendable, Equatable {
    /// LISTEN is active, for the first time or again. Earlier notifications are lost: read everything again.
    case listening
    case notification(payload: String)
}

extension ConnectionPool {
    /// Listens on a channel over its own connection, and reconnects until the stream or the pool ends.
    ///
    /// A notification is only a hint that something changed. If more than 256 wait unread, the oldest are dropped.
    package func notifications(on channel: StaticString) -> AsyncStream<NotificationEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NotificationEvent.self, bufferingPolicy: .bufferingNewest(256))
        let waker = Waker()
        continuation.onTermination = { _ in waker.wake() }
        let listener = Listener(core: core, channel: channel, waker: waker, continuation: continuation)
        if !core.startListener(waker, listener.run) { continuation.finish() }
        return stream
    }
}
