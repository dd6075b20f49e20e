import NIOCore
import NIOHTTP1

/// Turns the parts of an HTTP/1 connection into whole requests, answered one after the other, and answers into octets.
/// ``ConnectionState`` has the rules. Closes a connection whose client exceeds a time limit: ``ReadDeadline`` and
/// ``WriteDeadline``.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPAnswer
    typealias OutboundOut = ByteBuffer

    private var state: ConnectionState
    private let limits: ListenerLimits
    private let framing: BodyFraming
    private let date: DateHeader
    private let requests: RequestTasks
    private var isAnswering = false
    /// Arrivals that wait for their turn. If the connection ends first, they are neither answered nor logged.
    private var waiting: [Arrival] = []
    private var readDeadline: ReadDeadline
    private let readTimer = DeadlineTimer()
    private let writeDeadline: WriteDeadline
    /// For the end of the connection.
    private let timer = DeadlineTimer()
    private var isInputClosed = false
    private var isReadHeld = false

    init(
        limits: ListenerLimits, origin: RequestOrigin, framing: BodyFraming, share: BufferShare, date: DateHeader,
        requests: RequestTasks
    ) {
        state = ConnectionState(limits: limits, origin: origin, share: share)
        self.limits = limits
        self.framing = framing
        self.date = date
        self.requests = requests
        readDeadline = ReadDeadline(limits: limits, now: .now())
        writeDeadline = WriteDeadline(limit: limits.writeTimeout, share: share)
    }

    func handlerAdded(context: ChannelHandlerContext) { setReadTimer(context) }

    func handlerRemoved(context: ChannelHandlerContext) {
        readTimer.cancel()
        writeDeadline.cancel()
        timer.cancel()
        state.end()
        waiting = []
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            readDeadline.receivedHead(now: .now())
            head.headers = head.headers.withoutOuterWhitespace
            framing.announce(head)
            switch state.received(head) {
            case .none: break
            case .writeContinue: writeContinue(context)
            case .deliver(let fault): deliver(.fault(fault, from: state.client), context)
            }
        case .body(let part):  // never extends the deadline: the limit is on the whole body
            if let fault = state.received(part) { deliver(.fault(fault, from: state.client), context) }
        case .end(let trailers):
            readDeadline.receivedEnd(now: .now())
            if let arrival = state.receivedEnd(trailers: trailers) { deliver(arrival, context) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if framing.isHeadUnfinished { readDeadline.receivedPartOfHead(now: .now()) }
        setReadTimer(context)
        context.fireChannelReadComplete()
    }

    private func setReadTimer(_ context: ChannelHandlerContext) {
        guard let deadline = readDeadline.deadline else { return readTimer.clear() }
        readTimer.set(deadline, context) { [self] in
            switch readDeadline.phase {
            case .idle: context.close(promise: nil)  // without an answer
            case .header: fail(.headerTimeout, context)
            case .body: fail(.bodyTimeout, context)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPParserError: fail(fault(error), context)
        case let fault as HTTPFault: fail(fault, context)
        case is ByteToMessageDecoderError: fail(.malformed, context)  // more octets for a parser that has given up
        default: context.close(promise: nil)  // the connection broke
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            state.drain()
            guard state.isIdle else { return }
            timer.set(.now() + limits.idleGrace, context) { [self] in
                if state.isIdle { context.close(promise: nil) }
            }
        case ChannelEvent.inputClosed:
            isInputClosed = true
            if state.inputClosed() { context.close(promise: nil) }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Separates the faults that the parser reports as one.
    private func fault(_ error: HTTPParserError) -> HTTPFault {
        switch error {
        case .headerOverflow: framing.requestLine.length > limits.targetSize ? .targetTooLong : .headerTooLarge
        case .invalidMethod where framing.requestLine.hasMethod: .method
        default: .malformed
        }
    }

    private func fail(_ fault: HTTPFault, _ context: ChannelHandlerContext) {
        if let fault = state.fail(fault) { deliver(.fault(fault, from: state.client), context) }
    }

    private func deliver(_ arrival: Arrival, _ context: ChannelHandlerContext) {
        guard !isAnswering else { return waiting.append(arrival) }
        isAnswering = true
        requests.begin(arrival, on: context.channel)
    }

    /// Not at once: the previous answer is still being written.
    private func answered(_ context: ChannelHandlerContext) {
        guard !waiting.isEmpty else { return isAnswering = false }
        context.eventLoop.assumeIsolated().execute { [self] in
            // Unless the connection has ended.
            if !waiting.isEmpty { requests.begin(waiting.removeFirst(), on: context.channel) }
        }
    }

    /// Backpressure: at most one request being answered and one waiting, and no reading while the client takes no
    /// answers.
    func read(context: ChannelHandlerContext) {
        isReadHeld = state.isBehind || !context.channel.isWritable
        if !isReadHeld { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        releaseRead(context)
        context.fireChannelWritabilityChanged()
    }

    private func releaseRead(_ context: ChannelHandlerContext) {
        if isReadHeld { read(context: context) }
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let action = state.answering()
        let octets = unwrapOutboundIn(data).octets(date: date.value, hasBody: action.hasBody, isLast: action.closes)
        var written = promise
        if action.closes {
            let end = promise ?? context.eventLoop.makePromise(of: Void.self)
            end.futureResult.assumeIsolated().whenComplete { _ in self.finish(context) }
            written = end
        }
        write(octets, context, written)
        answered(context)
        // Also after the last answer: octets that the client still sends must be read, or closing would reset the
        // connection and discard the answer.
        releaseRead(context)
    }

    /// It follows a head at once, so it does not extend the body's deadline.
    private func writeContinue(_ context: ChannelHandlerContext) {
        write(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"), context, nil)
        context.flush()
    }

    private func write(_ octets: ByteBuffer, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        readDeadline.answered(now: .now())
        setReadTimer(context)
        writeDeadline.write(octets, context, promise)
    }

    // MARK: The end

    /// Closes the broker's side first, and the client's side when the client has closed it, or after `lingerTimeout`.
    private func finish(_ context: ChannelHandlerContext) {
        guard !isInputClosed else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        timer.set(.now() + limits.lingerTimeout, context) { context.close(promise: nil) }
    }
}
