import NIOCore
import Synchronization

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
        counts.opened()
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
        if isFull { counts.refusedOne() }
        if isGreedy { counts.refusedOneForItsAddress() }
        return !isFull && !isGreedy
    }

    private func leave(_ address: ClientAddress?) {
        counts.closed()
        state.withLock { state in
            state.total -= 1
            guard let address, let count = state.byAddress[address] else { return }
            state.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }
}
