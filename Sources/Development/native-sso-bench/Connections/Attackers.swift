import NIOCore
import Synchronization

/// Attackers that reconnect each time the broker closes their connection.
final class Attackers: Sendable {
    struct Count: Sendable {
        var opened = 0
        /// The broker ended it.
        var shed = 0
        /// The connection attempt failed.
        var failed = 0
    }

    private struct State {
        var isOver = false
        var counts: [Attack: Count] = [:]
        var channels: [Int: any Channel] = [:]
    }

    private let peer: Peer
    private let attacks: [Attack]
    private let state = Mutex(State())

    /// - Parameter count: Shared out among all kinds.
    init(_ count: Int, _ peer: Peer) {
        self.peer = peer
        let kinds = Attack.all(overTLS: peer.tls != nil)
        attacks = (0..<count).map { kinds[$0 % kinds.count] }
    }

    var counts: [Attack: Count] { state.withLock { $0.counts } }

    /// Connections at this moment.
    var connected: Int { state.withLock { $0.channels.count } }

    private static let arrival: Int64 = 10_000_000_000

    /// They come one after the other within ten seconds, or a quarter of the attack, and not as one wave.
    func begin(within seconds: Double) {
        let arrival = min(Self.arrival, Int64(seconds * 0.25e9))
        for index in attacks.indices {
            let delay = TimeAmount.nanoseconds(arrival * Int64(index) / Int64(attacks.count))
            peer.eventLoop.scheduleTask(in: delay) { self.connect(index) }
        }
    }

    func end() async {
        let channels = state.withLock { state in
            state.isOver = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
        for channel in channels { try? await channel.closeFuture.get() }
    }

    private func connect(_ index: Int) {
        guard state.withLock({ !$0.isOver }) else { return }
        let attack = attacks[index]
        peer.open(index, inTLS: attack.speaksHTTP, receiveBuffer: attack == .slowReader ? 2048 : nil) {
            Attacker(attack, waitsForTLS: $0)
        }.whenComplete { result in
            switch result {
            case .success(let channel): self.opened(channel, index)
            case .failure:
                self.state.withLock { $0.counts[attack, default: Count()].failed += 1 }
                self.peer.eventLoop.scheduleTask(in: .seconds(1)) { self.connect(index) }
            }
        }
    }

    private func opened(_ channel: any Channel, _ index: Int) {
        let isOver = state.withLock { state in
            state.counts[attacks[index], default: Count()].opened += 1
            state.channels[index] = channel
            return state.isOver
        }
        if isOver { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.channels[index] = nil
                if !state.isOver { state.counts[self.attacks[index], default: Count()].shed += 1 }
            }
            self.connect(index)
        }
    }
}

/// One connection of an attacker.
private final class Attacker: OpeningHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let attack: Attack
    let waitsForTLS: Bool
    private var drops: RepeatedTask?

    init(_ attack: Attack, waitsForTLS: Bool) {
        self.attack = attack
        self.waitsForTLS = waitsForTLS
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // A handshake is read, and what comes after it is not.
        if attack == .slowReader, waitsForTLS { context.channel.setOption(.autoRead, value: true).whenFailure { _ in } }
    }

    func begin(_ context: ChannelHandlerContext) {
        if attack == .slowReader, waitsForTLS {
            context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        }
        if attack.opening.readableBytes > 0 {
            context.writeAndFlush(wrapOutboundOut(attack.opening), promise: nil)
        }
        guard let drop = attack.drop else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        drops = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            bound.value.writeAndFlush(NIOAny(drop), promise: nil)
        }
    }

    /// An answer: the broker has had enough, and waits for this side to close, too.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func handlerRemoved(context: ChannelHandlerContext) { drops?.cancel() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
