import NIOCore
import NIOHTTP1

/// What the handlers before and after the parser of one connection tell each other, all on its event loop: how the parser
/// said that the body of the current request is framed, and whether a head has begun that it has not reported yet.
final class BodyFraming {
    enum Kind: Equatable {
        case length(Int)
        case chunked
    }

    private var announced: Kind?

    /// Octets of a head have come, but not its end.
    var isHeadUnfinished = false

    /// The first line of the head that is being read, or was read last.
    var requestLine = RequestLine()

    /// A head has been parsed.
    func announce(_ head: HTTPRequestHead) {
        announced =
            head.headers.contains(name: "transfer-encoding")
            ? .chunked : .length(head.headers.first(name: "content-length").flatMap(Int.init) ?? 0)
    }

    /// What has been announced since the last call.
    func take() -> Kind? {
        defer { announced = nil }
        return announced
    }
}

/// Hands octets to the parser one head or body at a time, and looks through chunked bodies first.
///
/// Heads end with CR LF CR LF and nothing else. Where the parser sees the end of a head elsewhere, there are two readings
/// of the same octets, and the connection ends.
final class FramingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Something is wrong that the parser would not see.
    struct Refused: Error {
        let fault: HTTPFault
    }

    private enum State {
        /// The head and where it may end; `nil`: nothing of it has come.
        case head(HeadEnd?)
        case length(Int)
        case chunked(ChunkScanner)
        /// Nothing is passed on any more.
        case stopped
    }

    private var state = State.head(nil)
    private let framing: BodyFraming
    private let maximumExtensionOctets: Int

    init(framing: BodyFraming, maximumExtensionOctets: Int) {
        self.framing = framing
        self.maximumExtensionOctets = maximumExtensionOctets
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var octets = unwrapInboundIn(data)
        while octets.readableBytes > 0 {
            switch state {
            case .head(let end): passHead(end, &octets, context)
            case .length(let length): passBody(length, &octets, context)
            case .chunked(let scanner): passChunks(scanner, &octets, context)
            case .stopped: return
            }
        }
    }

    private func passHead(_ begun: HeadEnd?, _ octets: inout ByteBuffer, _ context: ChannelHandlerContext) {
        if begun == nil { framing.requestLine = RequestLine() }
        var end = begun ?? HeadEnd()
        let (count, isComplete) = end.scan(octets.readableBytesView)
        framing.requestLine.scan(octets.readableBytesView.prefix(count))
        state = .head(isComplete ? nil : end)
        framing.isHeadUnfinished = !isComplete
        pass(count, of: &octets, context)
        guard let kind = framing.take() else { return }
        guard isComplete else { return refuse(.malformed, context) }
        switch kind {
        case .length(0): break
        case .length(let length): state = .length(length)
        case .chunked: state = .chunked(ChunkScanner(maximumExtensionOctets: maximumExtensionOctets))
        }
    }

    private func passBody(_ length: Int, _ octets: inout ByteBuffer, _ context: ChannelHandlerContext) {
        let count = min(length, octets.readableBytes)
        state = count == length ? .head(nil) : .length(length - count)
        pass(count, of: &octets, context)
    }

    private func passChunks(_ scanner: ChunkScanner, _ octets: inout ByteBuffer, _ context: ChannelHandlerContext) {
        var scanner = scanner
        switch scanner.scan(octets.readableBytesView) {
        case .unfinished:
            state = .chunked(scanner)
            pass(octets.readableBytes, of: &octets, context)
        case .finished(let count):
            state = .head(nil)
            pass(count, of: &octets, context)
        case .fault(let fault): refuse(fault, context)
        }
    }

    private func pass(_ count: Int, of octets: inout ByteBuffer, _ context: ChannelHandlerContext) {
        guard let slice = octets.readSlice(length: count) else { return }
        context.fireChannelRead(wrapInboundOut(slice))
    }

    private func refuse(_ fault: HTTPFault, _ context: ChannelHandlerContext) {
        state = .stopped
        context.fireErrorCaught(Refused(fault: fault))
    }
}

/// Finds CR LF CR LF, also where it comes in pieces.
struct HeadEnd {
    /// How many octets of the end have been seen.
    private var matched = 0

    /// - Returns: The octets up to and including the end, or all of them.
    mutating func scan(_ octets: some RandomAccessCollection<UInt8>) -> (count: Int, isComplete: Bool) {
        var count = 0
        for octet in octets {
            count += 1
            switch (octet, matched) {
            case (0x0D, 0), (0x0A, 1), (0x0D, 2): matched += 1
            case (0x0A, 3): return (count, true)
            case (0x0D, _): matched = 1
            default: matched = 0
            }
        }
        return (count, false)
    }
}
