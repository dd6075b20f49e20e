import BrokerHarness
import Glibc

/// When a load ends: at whatever comes first.
struct LoadLimit {
    var seconds: Double
    var requests = Int.max
}

/// One thread and `poll` over all connections: each has one request under way at any time, the next follows its answer.
///
/// It shares the processors with what it measures, so it does little: requests lie ready before it begins, an answer is looked
/// at where it lies, and nothing is allocated for either.
struct LoadGenerator {
    private static let patience: Int32 = 20_000

    let port: UInt16
    let connections: Int
    var sampling = 64

    /// Runs until the limit or until the workload has nothing left to send; what was sent is always waited for.
    func run(_ workload: inout some Workload, _ limit: LoadLimit) throws -> LoadResult {
        let peers = try (0..<connections).map { _ in try Connection(port: port) }
        var result = LoadResult(sampling: sampling, tokenType: workload.tokenType)
        let start = ProcessClock.monotonic
        let end = start + Int64(limit.seconds * 1e9)
        var remaining = limit.requests
        var busy = 0
        for (index, peer) in peers.enumerated() where try Self.send(on: peer, index, &workload, &remaining, end) {
            busy += 1
        }
        var watched = peers.map { peer in
            pollfd(fd: peer.descriptor, events: Int16(peer.wantsToSend ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
        while busy > 0 {
            guard poll(&watched, nfds_t(watched.count), Self.patience) > 0 else {
                throw HTTPFailure.silence
            }
            for index in watched.indices where watched[index].revents != 0 {
                let peer = peers[index]
                if peer.wantsToSend { try peer.flush() }
                let began = peer.began ?? 0
                if let (status, body) = try peer.receive() {
                    if result.note(status, body, nanoseconds: ProcessClock.monotonic - began) {
                        workload.answered(body, on: index)
                    }
                    if try !Self.send(on: peer, index, &workload, &remaining, end) { busy -= 1 }
                }
                watched[index].events = Int16(peer.wantsToSend ? POLLIN | POLLOUT : POLLIN)
            }
        }
        result.seconds = Double(ProcessClock.monotonic - start) / 1e9
        return result
    }

    private static func send(
        on peer: Connection, _ index: Int, _ workload: inout some Workload, _ remaining: inout Int, _ end: Int64
    ) throws -> Bool {
        let now = ProcessClock.monotonic
        guard now < end, remaining > 0, try peer.begin(at: now, { workload.next(on: index, into: $0) }) else {
            return false
        }
        remaining -= 1
        return true
    }
}
