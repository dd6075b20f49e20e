import NativeSSO
import Synchronization

/// The `Date` of answers, written once a second. RFC 9110 §6.6.1.
final class DateHeader: Sendable {
    private let clock: any WallClock
    private let cached = Mutex((seconds: Int64.min, text: ""))

    init(clock: any WallClock) { self.clock = clock }

    var value: String {
        let seconds = clock.milliseconds / 1000
        return cached.withLock { cached in
            if cached.seconds != seconds { cached = (seconds, CivilTime(seconds: seconds).httpDate) }
            return cached.text
        }
    }
}
