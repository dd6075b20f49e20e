import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// One stream of an HTTP/2 connection: one request and its answer. The rules are those of HTTP/1.1, ``HeadRules`` and
/// ``ConnectionState``. A fault on one stream leaves the other streams as they are.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTPAnswer
    typealias OutboundOut = HTTP2Frame.FramePayload

    private var state: ConnectionState
    private let limits: ListenerLimits
    private let date: DateHeader
    private let requests: RequestTasks
    private let share: BufferShare
    private let timer = DeadlineTimer()
    private var hasHead = false
    private var isInputEnded = false
    private var isReading = false
    private var isDelivered = false

    init(limits: ListenerLimits, origin: RequestOrigin, share: BufferShare, date: DateHeader, requests: RequestTasks) {
        state = ConnectionState(limits: limits, origin: origin, share: share)
        self.share = share
        self.limits = limits
        self.date = date
        self.requests = requests
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer.cancel()
        state.end()
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        defer { isReading = false }
        switch unwrapInboundIn(data) {
        case .headers(let part) where !hasHead:
            hasHead = true
            readHead(part.headers, context)
            if part.endStream { readEnd(trailers: nil, context) }
        case .headers(let part): readEnd(trailers: HTTPHeaders(part.headers.map { ($0.name, $0.value) }), context)
        case .data(let part):
            guard case .byteBuffer(let octets) = part.data else { return }
            if let fault = state.received(octets) { deliver(.fault(fault, from: state.client), context) }
            if part.endStream { readEnd(trailers: nil, context) }
        default: break
        }
    }

    private func readHead(_ block: HPACKHeaders, _ context: ChannelHandlerContext) {
        do throws(HTTPFault) {
            switch state.received(try HTTPRequestHead(block)) {
            case .none: break
            case .writeContinue: writeContinue(context)
            case .deliver(let fault): return deliver(.fault(fault, from: state.client), context)
            }
        } catch {
            return fail(error, context)
        }
        // The head comes whole; the connection's deadline is on its pieces.
        timer.set(.now() + limits.bodyTimeout, context) { [self] in fail(.bodyTimeout, context) }
    }

    private func readEnd(trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        isInputEnded = true
        if let arrival = state.receivedEnd(trailers: trailers) { deliver(arrival, context) }
    }

    private func fail(_ fault: HTTPFault, _ context: ChannelHandlerContext) {
        if let fault = state.fail(fault) { deliver(.fault(fault, from: state.client), context) }
    }

    private func deliver(_ arrival: Arrival, _ context: ChannelHandlerContext) {
        isDelivered = true
        timer.clear()  // the client has no time limit while the broker answers
        requests.begin(arrival, on: context.channel)
    }

    /// The stream broke: its client reset it, or NIO refused a frame on it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // MARK: The answer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let answer = unwrapOutboundIn(data)
        afterRead(context) { self.write(answer, context, promise) }
    }

    private func write(_ answer: HTTPAnswer, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let hasBody = state.answering().hasBody && !answer.body.isEmpty
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        // The client may give the stream no window.
        let octets = answer.body.count
        share.takeInAnyCase(octets)
        written.futureResult.assumeIsolated().whenComplete { result in
            self.share.giveBack(octets)
            if case .success = result { self.wrote(context) }
        }
        // A client that gives no window, or does not read, loses the answer at the limit.
        timer.set(.now() + limits.writeTimeout, context) { context.close(promise: nil) }
        let head = HTTP2Frame.FramePayload.Headers(headers: answer.block(date: date.value), endStream: !hasBody)
        context.write(wrapOutboundOut(.headers(head)), promise: hasBody ? nil : written)
        if hasBody {
            let body = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer(bytes: answer.body)), endStream: true)
            context.write(wrapOutboundOut(.data(body)), promise: written)
        }
    }

    /// The rest of the request is of no use, RFC 9113 §8.1, but the broker waits `streamLingerTimeout` for its end.
    /// After a reset, NIO would treat trailers on their way as a connection error, which ends all streams.
    private func wrote(_ context: ChannelHandlerContext) {
        timer.clear()
        guard !isInputEnded, context.channel.isActive else { return }
        timer.set(.now() + limits.streamLingerTimeout, context) { [self] in
            guard !isInputEnded else { return }
            context.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
        }
    }

    private func writeContinue(_ context: ChannelHandlerContext) {
        afterRead(context) { [self] in
            // The whole request may have arrived, and an interim answer never follows the final one.
            guard !isDelivered else { return }
            context.write(wrapOutboundOut(.headers(.init(headers: [":status": "100"]))), promise: nil)
        }
    }

    /// Never writes during a read. When NIO has already closed the stream, frames that its client sent before the reset
    /// are still read. A frame on a closed stream is a connection error, which ends all streams.
    private func afterRead(_ context: ChannelHandlerContext, _ write: @escaping () -> Void) {
        guard isReading else { return write() }
        context.eventLoop.assumeIsolated().execute {
            write()
            context.flush()
        }
    }
}
