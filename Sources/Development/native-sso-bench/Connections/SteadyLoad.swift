import BrokerHarness
import NIOCore
import Synchronization

/// Honest clients: keep-alive connections on one event loop. Each sends a request at a fixed interval. After a late
/// answer, it sends the next request at once.
///
/// A request's time counts from when it was due, so a delay by an earlier request counts too.
final class SteadyLoad<Work: Workload & Sendable>: @unchecked Sendable {
    // Everything is touched on the one event loop of `peer` only.
    private var workload: Work
    private var result = LoadResult(sampling: 64)
    private let peer: Peer
    private let interval: Int64
    private let end: LoadEnd
    private let start = ProcessClock.monotonic
    private var open = 0
    private let done: EventLoopPromise<LoadResult>

    /// Sends about `perSecond` requests each second until the end.
    static func run(
        _ workload: Work, _ peer: Peer, connections: Int, perSecond: Int, until end: LoadEnd
    ) async throws -> (workload: Work, result: LoadResult) {
        let load = SteadyLoad(workload, peer, connections, perSecond, end)
        for index in 0..<connections {
            // In TLS they are ready when it is.
            load.peer.open(Self.first + index) { Client(load, index, waitsForTLS: $0) }
                .whenFailure { load.fail($0) }
        }
        let result = try await load.done.futureResult.get()
        return (load.workload, result)
    }

    /// Away from the addresses of the others.
    private static var first: Int { 20_000_000 }

    private init(_ workload: Work, _ peer: Peer, _ connections: Int, _ perSecond: Int, _ end: LoadEnd) {
        self.workload = workload
        self.peer = peer
        interval = Int64(1_000_000_000 * connections / perSecond)
        self.end = end
        open = connections
        done = peer.eventLoop.makePromise(of: LoadResult.self)
    }

    /// The request of a connection that is due; `nil` at the end.
    fileprivate func next(on index: Int, due: Int64) -> ByteBuffer? {
        guard end.isAfter(due) else { return nil }
        var request = ByteBuffer()
        var isEmpty = false
        request.writeWithUnsafeMutableBytes(minimumWritableBytes: 16_384) { room in
            let count = workload.next(on: index, into: room)
            isEmpty = count == nil
            return count ?? 0
        }
        return isEmpty ? nil : request
    }

    fileprivate func answered(_ status: Int, _ body: UnsafeRawBufferPointer, on index: Int, due: Int64) -> Int64 {
        if result.note(status, body, nanoseconds: ProcessClock.monotonic - due) { workload.answered(body, on: index) }
        return due + interval
    }

    /// Spread over the interval.
    fileprivate func firstDue(_ index: Int) -> Int64 {
        ProcessClock.monotonic + interval * Int64(index + 1) / Int64(open + 1)
    }

    fileprivate func ended() {
        open -= 1
        guard open == 0 else { return }
        result.seconds = Double(ProcessClock.monotonic - start) / 1e9
        done.succeed(result)
    }

    fileprivate func fail(_ error: any Error) { done.fail(error) }
}

/// When a steady load ends: nothing that is due from then on is sent.
final class LoadEnd: Sendable {
    /// In nanoseconds of the monotonic clock.
    private let instant: Mutex<Int64>

    /// Ends when ``now()`` is called.
    init() { instant = Mutex(Int64.max) }

    init(after seconds: Double) { instant = Mutex(ProcessClock.monotonic + Int64(seconds * 1e9)) }

    func now() { instant.withLock { $0 = min($0, ProcessClock.monotonic) } }

    func isAfter(_ due: Int64) -> Bool { instant.withLock { due < $0 } }
}

private final class Client<Work: Workload & Sendable>: OpeningHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let load: SteadyLoad<Work>
    private let index: Int
    let waitsForTLS: Bool
    private var received = ByteBuffer()
    private var due: Int64 = 0
    private var isOver = false

    init(_ load: SteadyLoad<Work>, _ index: Int, waitsForTLS: Bool) {
        self.load = load
        self.index = index
        self.waitsForTLS = waitsForTLS
    }

    func begin(_ context: ChannelHandlerContext) {
        due = load.firstDue(index)
        plan(context)
    }

    private func plan(_ context: ChannelHandlerContext) {
        let deadline = NIODeadline.uptimeNanoseconds(UInt64(clamping: due))
        context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.send(context) }
    }

    private func send(_ context: ChannelHandlerContext) {
        guard !isOver else { return }
        guard let request = load.next(on: index, due: due) else {
            isOver = true
            load.ended()
            return context.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        let next: Int64? = received.withUnsafeReadableBytes { octets in
            guard let head = AnswerHead(octets), octets.count >= head.bodyStart + head.bodyLength else { return nil }
            let body = UnsafeRawBufferPointer(rebasing: octets[head.bodyStart..<head.bodyStart + head.bodyLength])
            return load.answered(head.status, body, on: index, due: due)
        }
        guard let next else { return }
        received.clear()
        due = next
        plan(context)
    }

    /// The broker must never close an honest client's connection.
    func channelInactive(context: ChannelHandlerContext) {
        if !isOver { load.fail(HTTPFailure.cutOff) }
        isOver = true
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        load.fail(error)
        isOver = true
        context.close(promise: nil)
    }
}
