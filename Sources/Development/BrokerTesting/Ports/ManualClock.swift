import Synchronization

/// A monotonic clock that a test moves. Sleepers wake when their instant has come.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset: Duration
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [(until: Instant, wake: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    /// One element for each sleep that began: its length.
    package let sleeps = AsyncStream<Duration>.makeStream()

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let length = state.withLock { state in
                    state.sleepers.append((deadline, continuation))
                    return state.now.duration(to: deadline)
                }
                sleeps.continuation.yield(length)
                if Task.isCancelled { wake(until: nil) }
            }
        } onCancel: {
            wake(until: nil)
        }
        try Task.checkCancellation()
    }

    package func advance(by duration: Duration) {
        wake(
            until: state.withLock { state in
                state.now = state.now.advanced(by: duration)
                return state.now
            })
    }

    private func wake(until instant: Instant?) {
        let awake = state.withLock { state in
            let isDue: (Instant) -> Bool = { until in instant.map { until <= $0 } ?? true }
            let awake = state.sleepers.filter { isDue($0.until) }
            state.sleepers.removeAll { isDue($0.until) }
            return awake
        }
        for sleeper in awake { sleeper.wake.resume() }
    }
}
