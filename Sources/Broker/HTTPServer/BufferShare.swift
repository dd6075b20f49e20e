import Synchronization

/// Memory of one connection for unfinished requests and untaken answers, all its streams together.
///
/// Each connection has a small part of its own, so an ordinary request is always served. Beyond that, all connections
/// of a listener share ``ListenerLimits/bufferedOctets``. A connection gives everything back at its end.
final class BufferShare: Sendable {
    /// Octets that are the connection's own: room for two ordinary requests.
    static let own = 8 * 1024

    private let counts: ConnectionCounts
    private let limit: Int
    private let held = Mutex(0)

    /// - Parameters:
    ///   - counts: Hold what all connections have taken beyond their own parts.
    ///   - limit: The most that they may take, in octets.
    init(_ counts: ConnectionCounts, limit: Int) {
        self.counts = counts
        self.limit = limit
    }

    deinit { held.withLock { _ = counts.buffered(-Self.beyondOwn($0)) } }

    private static func beyondOwn(_ held: Int) -> Int { max(0, held - own) }

    /// - Returns: Whether there is room. If not, nothing is taken.
    func take(_ octets: Int) -> Bool {
        held.withLock { held in
            let more = Self.beyondOwn(held + octets) - Self.beyondOwn(held)
            guard more == 0 || counts.buffer(more, atMost: limit) else { return false }
            held += octets
            return true
        }
    }

    /// For an answer: it is kept even beyond the limit, and later requests wait.
    func takeInAnyCase(_ octets: Int) {
        held.withLock { held in
            let before = Self.beyondOwn(held)
            held += octets
            let more = Self.beyondOwn(held) - before
            if more != 0 { _ = counts.buffered(more) }
        }
    }

    func giveBack(_ octets: Int) { takeInAnyCase(-octets) }
}

/// The part of a ``BufferShare`` that one request takes, for as long as it is in memory: a connection or a stream can
/// end while the broker still answers its request.
final class BufferedRequest: Sendable {
    private let share: BufferShare
    private let octets: Int

    /// - Parameter octets: Taken already.
    init(of share: BufferShare, _ octets: Int) {
        self.share = share
        self.octets = octets
    }

    deinit { share.giveBack(octets) }
}
