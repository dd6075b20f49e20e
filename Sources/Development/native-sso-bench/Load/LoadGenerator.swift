import BrokerHarness
import Glibc

/// One thread and `poll` over all connections: each has one request under way at any time.
///
/// It shares the processors with what it measures, so it does little: requests lie ready before it begins, an answer is looked
/// at where it lies, and nothing is allocated for either.
struct LoadGenerator {
    /// In nanoseconds.
    private static let patience: Int64 = 20_000_000_000

    private enum State {
        case idle, busy, done
    }

    let port: UInt16
    let connections: Int
    /// Requests each second over all connections. `nil`: each request follows the answer before it.
    var perSecond: Int?

    /// Runs for so long, or until the workload has nothing left to send; what was sent is always waited for.
    ///
    /// With a rate, a request that is late because of the answer before it counts from when it was due.
    func run(_ workload: inout some Workload, seconds: Double) throws -> LoadResult {
        let peers = try (0..<connections).map { _ in try Connection(port: port) }
        var result = LoadResult(sampling: 64, tokenType: workload.tokenType)
        let start = ProcessClock.monotonic
        let end = start + Int64(seconds * 1e9)
        let interval = perSecond.map { 1_000_000_000 * Int64(connections) / Int64($0) } ?? 0
        var due = peers.indices.map { start + interval * Int64($0) / Int64(connections) }
        var states = peers.map { _ in State.idle }
        var watched = peers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }

        func send(_ index: Int, at instant: Int64) throws {
            states[index] = .done
            guard instant < end, try peers[index].begin(at: instant, { workload.next(on: index, into: $0) }) else {
                return
            }
            states[index] = .busy
            watched[index].events = Self.events(of: peers[index])
        }

        while true {
            let now = ProcessClock.monotonic
            var pause = Self.patience
            for index in peers.indices where states[index] == .idle {
                if due[index] <= now || due[index] >= end {
                    try send(index, at: max(due[index], ProcessClock.monotonic))
                } else {
                    pause = min(pause, due[index] - now)
                }
            }
            guard states.contains(where: { $0 != .done }) else { break }
            let count = poll(&watched, nfds_t(watched.count), Int32(pause / 1_000_000 + 1))
            guard count > 0 || pause < Self.patience else { throw HTTPFailure.silence }
            for index in watched.indices where watched[index].revents != 0 {
                let peer = peers[index]
                if peer.wantsToSend { try peer.flush() }
                watched[index].events = Self.events(of: peer)
                let began = peer.began ?? 0
                guard let (status, body) = try peer.receive() else { continue }
                if result.note(status, body, nanoseconds: ProcessClock.monotonic - began) {
                    workload.answered(body, on: index)
                }
                states[index] = .idle
                let now = ProcessClock.monotonic
                due[index] = interval == 0 ? now : due[index] + interval
                if due[index] <= now { try send(index, at: due[index]) }
            }
        }
        result.seconds = Double(ProcessClock.monotonic - start) / 1e9
        return result
    }

    private static func events(of peer: Connection) -> Int16 {
        Int16(peer.wantsToSend ? POLLIN | POLLOUT : POLLIN)
    }
}
