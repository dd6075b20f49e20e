import NIOCore
import Synchronization

/// The connections of one listener that are open, or whose requests are still being answered.
///
/// A task per connection could also wait for its end, but would cost an idle connection a fifth of all its memory.
final class OpenConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// The listener accepts no more.
        var isEnding = false
        var isCancelled = false
        var whenEnded: CheckedContinuation<Void, Never>?

        /// The waiting task's continuation, once no connection is left.
        mutating func takeContinuation() -> CheckedContinuation<Void, Never>? {
            connections.isEmpty ? whenEnded.take() : nil
        }
    }

    private let state = Mutex(State())

    func add(_ connection: Connection) {
        let (isEnding, isCancelled) = state.withLock { state in
            state.connections[ObjectIdentifier(connection.channel)] = connection
            return (state.isEnding, state.isCancelled)
        }
        // Not earlier: the channel may already be closed.
        connection.channel.closeFuture.whenComplete { [requests = connection.requests] _ in requests.connectionClosed()
        }
        if isCancelled { connection.cancel() } else if isEnding { connection.end() }
    }

    /// - Parameter id: The identifier of the connection's channel.
    func remove(_ id: ObjectIdentifier) {
        // This may be the last reference to the connection, so it is released outside the lock.
        let (removed, waiting) = state.withLock { ($0.connections.removeValue(forKey: id), $0.takeContinuation()) }
        _ = removed
        waiting?.resume()
    }

    /// Tells every connection of a stop: it ends after the answers to the requests that have begun.
    func quiesce() {
        let connections = state.withLock { Array($0.connections.values) }
        for connection in connections {
            connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Returns when no connection is left. For one task, after the listener has accepted its last connection.
    ///
    /// The listener may accept a connection at the last moment and fail to begin it. No other code closes such a
    /// connection, and it never receives the event of the stop. So it is closed here.
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

    /// Closes all connections and cancels their requests.
    func cancel() {
        let connections = state.withLock { state in
            state.isCancelled = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.cancel() }
    }
}

final class Connection: Sendable {
    let channel: any Channel
    let requests: RequestTasks

    init(channel: any Channel, _ requests: RequestTasks) {
        self.channel = channel
        self.requests = requests
    }

    /// Closes without an answer.
    func end() { channel.close(promise: nil) }

    func cancel() {
        requests.cancel()
        end()
    }
}

/// How many connections a listener holds at one time: in total, and from one address, so that a single attacker cannot
/// take all of them. A connection beyond the quota is closed as soon as it is accepted.
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
    /// - Returns: Whether the quota has room for it.
    func admit(_ channel: any Channel, from peer: NetworkAddress?) -> Bool {
        // A proxy's connections carry many clients.
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
