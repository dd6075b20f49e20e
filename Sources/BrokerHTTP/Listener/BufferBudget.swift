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
        guard octets > 0 else { return true }
        if counts.buffered(octets) <= limit { return true }
        _ = counts.buffered(-octets)
        return false
    }

    /// For what must be kept whatever there is.
    func takeInAnyCase(_ octets: Int) {
        if octets > 0 { _ = counts.buffered(octets) }
    }

    func giveBack(_ octets: Int) {
        if octets > 0 { _ = counts.buffered(-octets) }
    }
}

/// What one connection takes of a ``BufferBudget``, all its streams together. On its event loop only; what it holds at its end
/// is given back.
final class BufferShare {
    /// Octets that are the connection's own: room for two ordinary requests.
    static let own = 8 * 1024

    private let budget: BufferBudget
    private var held = 0

    init(_ budget: BufferBudget) { self.budget = budget }

    deinit { budget.giveBack(beyondOwn) }

    private var beyondOwn: Int { max(0, held - Self.own) }

    /// - Returns: Whether there is so much; if not, nothing is taken.
    func take(_ octets: Int) -> Bool {
        let before = beyondOwn
        held += octets
        if budget.take(beyondOwn - before) { return true }
        held -= octets
        return false
    }

    /// An answer that was earned is kept, and whoever comes later waits.
    func takeInAnyCase(_ octets: Int) {
        let before = beyondOwn
        held += octets
        budget.takeInAnyCase(beyondOwn - before)
    }

    func giveBack(_ octets: Int) {
        let before = beyondOwn
        held -= octets
        budget.giveBack(before - beyondOwn)
    }
}
