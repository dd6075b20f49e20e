import Synchronization

/// How much of unfinished requests and of answers that nobody takes all connections of a listener together may keep in memory.
///
/// What one connection may keep is bounded already; ten thousand of them that all use it up are not a connection's business.
/// Each has a small part of its own, which no other can take, so that an ordinary request is served whatever the others do.
final class BufferBudget: Sendable {
    private let limit: Int
    private let counts: ConnectionCounts

    /// - Parameters:
    ///   - limit: Octets, beyond each connection's own part.
    ///   - counts: Shows what is taken.
    init(limit: Int, counts: ConnectionCounts) {
        self.limit = limit
        self.counts = counts
    }

    /// - Returns: Whether there is so much; if not, nothing is taken.
    func take(_ octets: Int) -> Bool {
        octets <= 0 || counts.buffer(octets, atMost: limit)
    }

    /// For what must be kept whatever there is.
    func takeInAnyCase(_ octets: Int) {
        if octets > 0 { _ = counts.buffered(octets) }
    }

    func giveBack(_ octets: Int) {
        if octets > 0 { _ = counts.buffered(-octets) }
    }
}

/// What one connection takes of a ``BufferBudget``, all its streams together. What it holds at its end is given back.
final class BufferShare: Sendable {
    /// Octets that are the connection's own: room for two ordinary requests.
    static let own = 8 * 1024

    private let budget: BufferBudget
    private let held = Mutex(0)

    init(_ budget: BufferBudget) { self.budget = budget }

    deinit { budget.giveBack(held.withLock { Self.beyondOwn($0) }) }

    private static func beyondOwn(_ held: Int) -> Int { max(0, held - own) }

    /// - Returns: Whether there is so much; if not, nothing is taken.
    func take(_ octets: Int) -> Bool {
        held.withLock { held in
            let before = Self.beyondOwn(held)
            held += octets
            if budget.take(Self.beyondOwn(held) - before) { return true }
            held -= octets
            return false
        }
    }

    /// An answer that was earned is kept, and whoever comes later waits.
    func takeInAnyCase(_ octets: Int) {
        held.withLock { held in
            let before = Self.beyondOwn(held)
            held += octets
            budget.takeInAnyCase(Self.beyondOwn(held) - before)
        }
    }

    func giveBack(_ octets: Int) {
        held.withLock { held in
            let before = Self.beyondOwn(held)
            held -= octets
            budget.giveBack(before - Self.beyondOwn(held))
        }
    }
}

/// What the body of a request takes of a ``BufferShare``, for as long as anybody holds the body: a connection or a stream can end
/// while its request is still being answered.
final class BufferedBody: Sendable {
    private let share: BufferShare
    private let octets: Int

    /// - Parameter octets: Taken already.
    init(of share: BufferShare, _ octets: Int) {
        self.share = share
        self.octets = octets
    }

    deinit { share.giveBack(octets) }
}
