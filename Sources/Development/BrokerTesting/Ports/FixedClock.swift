package import NativeSSO
import Synchronization

/// A wall clock that stands still until it is set.
package final class FixedClock: WallClock {
    private let time: Mutex<Int64>

    /// - Parameter seconds: Since 1970-01-01T00:00:00Z; by default a day in November 2026.
    package init(seconds: Int64 = 1_795_000_000) { time = Mutex(seconds * 1000) }

    package var milliseconds: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    package func advance(by span: Seconds) {
        time.withLock { $0 += span.count * 1000 }
    }
}
