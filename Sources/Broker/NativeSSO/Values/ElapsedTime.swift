/// The time since it was made, by a clock that a test can set. Monotonic: the wall clock could be set back.
package struct ElapsedTime: Sendable {
    private let read: @Sendable () -> Duration
    private let pause: @Sendable (Duration) async throws -> Void

    package init<C: Clock>(by clock: C) where C.Duration == Duration {
        let start = clock.now
        read = { start.duration(to: clock.now) }
        pause = { try await clock.sleep(for: $0) }
    }

    package var now: Duration { read() }

    package func sleep(for duration: Duration) async throws { try await pause(duration) }
}
