import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of one listener that are open, or whose requests are still being answered.
///
/// Kept here and not by a task for each, which would wait for the end of its connection and cost an idle one a fifth of all its
/// memory.
final class OpenConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// The listener accepts no more.
        var isEnding = false
        var isCancelled = false
        var whenEnded: CheckedContinuation<Void, Never>?

        /// Whoever waits, if there is nothing left to wait for.
        mutating func takeContinuation() -> CheckedContinuation<Void, Never>? {
            guard connections.isEmpty else { return nil }
            defer { whenEnded = nil }
            return whenEnded
        }
    }

    private let state = Mutex(State())

    func add(_ connection: Connection) {
        let (isEnding, isCancelled) = state.withLock { state in
            state.connections[ObjectIdentifier(connection.channel)] = connection
            return (state.isEnding, state.isCancelled)
        }
        // Only now: it may be closed already.
        connection.channel.closeFuture.whenComplete { [requests = connection.requests] _ in requests.connectionClosed()
        }
        if isCancelled { connection.cancel() } else if isEnding { connection.end() }
    }

    /// - Parameter id: Of its channel.
    func remove(_ id: ObjectIdentifier) {
        // What is removed may be the last that holds it, and is let go of outside the lock.
        let (removed, waiting) = state.withLock { ($0.connections.removeValue(forKey: id), $0.takeContinuation()) }
        _ = removed
        waiting?.resume()
    }

    /// Returns when there is none left. For one task, after the listener has accepted its last one.
    ///
    /// Those that the listener accepted at the last moment and could not begin are closed: nobody else would, and they never
    /// read that there is a stop.
    func end() async {
        let connections = state.withLock { state in
            state.isEnding = true
            return Array(state.connections.values)
        }
        for connection in connections where !connection.channel.isActive { connection.end() }
        await withCheckedContinuation { continuation in
            let waiting = state.withLock { state in
                state.whenEnded = continuation
                return state.takeContinuation()
            }
            waiting?.resume()
        }
    }

    /// Closes all, and cancels what is being answered.
    func cancel() {
        let connections = state.withLock { state in
            state.isCancelled = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.cancel() }
    }
}

/// An accepted connection.
final class Connection: ServerChildChannelValue {
    let channel: any Channel
    let requests: RequestTasks

    init(channel: any Channel, _ requests: RequestTasks) {
        self.channel = channel
        self.requests = requests
    }

    /// Without a word.
    func end() { channel.close(promise: nil) }

    func cancel() {
        requests.cancel()
        end()
    }
}

/// How many connections a listener holds at one time: altogether, and from one address, so that a single attacker cannot
/// take all of them. What is beyond is closed as soon as it is accepted.
final class ConnectionQuota: Sendable {
    private struct State {
        var total = 0
        var byAddress: [ClientAddress: Int] = [:]
    }

    private let state = Mutex(State())
    private let limits: ListenerLimits
    private let proxies: TrustedProxies
    let counts: ConnectionCounts

    init(limits: ListenerLimits, proxies: TrustedProxies, counts: ConnectionCounts) {
        self.limits = limits
        self.proxies = proxies
        self.counts = counts
    }

    /// Counts the connection until it is closed.
    /// - Returns: Whether there is room for it.
    func admit(_ channel: any Channel, from peer: NetworkAddress?) -> Bool {
        // A proxy's connections are those of many clients.
        let address = proxies.include(peer) ? nil : peer.map(ClientAddress.init)
        guard enter(address) else { return false }
        counts.open.add()
        channel.closeFuture.whenComplete { _ in self.leave(address) }
        return true
    }

    private func enter(_ address: ClientAddress?) -> Bool {
        let (isFull, isGreedy) = state.withLock { state in
            if state.total >= limits.connections { return (true, false) }
            if let address, let limit = limits.connectionsPerAddress {
                let count = state.byAddress[address, default: 0]
                if count >= limit { return (false, true) }
                state.byAddress[address] = count + 1
            }
            state.total += 1
            return (false, false)
        }
        if isFull { counts.refused.add() }
        if isGreedy { counts.refusedForAddress.add() }
        return !isFull && !isGreedy
    }

    private func leave(_ address: ClientAddress?) {
        counts.open.add(-1)
        state.withLock { state in
            state.total -= 1
            guard let address, let count = state.byAddress[address] else { return }
            state.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }
}
