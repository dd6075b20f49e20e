import NIOCore
import NIOHTTP1
import StrictCoding

/// Shared by the handlers before and after the parser of one connection, on its event loop: how the current body is
/// framed, and whether a head has begun that the parser has not reported yet.
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

    /// The kind announced since the last call.
    func take() -> Kind? { announced.take() }
}

/// Passes octets to the parser one head or body at a time, and checks chunked bodies first.
///
/// A head ends only with CR LF CR LF. If the parser ends a head elsewhere, the same octets have two readings, and the
/// connection ends.
final class FramingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        /// The search for the head's end; `nil`: no octet of the head has come.
        case head(HeadEnd?)
        case length(Int)
        case chunked(ChunkScanner)
        /// Nothing more is passed on.
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
            case .length(let length):
                let count = min(length, octets.readableBytes)
                state = count == length ? .head(nil) : .length(length - count)
                pass(count, of: &octets, context)
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
        context.fireErrorCaught(fault)
    }
}

/// Finds CR LF CR LF, even when it arrives in pieces.
struct HeadEnd {
    /// How many octets of the end have matched.
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

/// Reads the framing of a chunked body alongside the parser, more strictly: the parser accepts a chunk of 2^64 − 1
/// octets, and an extension of any length. RFC 9112 §7.1.
struct ChunkScanner {
    enum Progress: Equatable {
        /// All octets were framing or body, and more must come.
        case unfinished
        /// The body ended after so many octets.
        case finished(Int)
        case fault(HTTPFault)
    }

    private enum State: Equatable {
        case size(digits: Int)
        case chunkExtension
        case sizeLineFeed
        case data
        case dataReturn
        case dataLineFeed
        case lastReturn
        case lastLineFeed
        case finished
    }

    /// A chunk size with more digits exceeds the largest accepted body.
    private static let maximumDigits = 8

    private var state = State.size(digits: 0)
    /// Octets of the current chunk that are still to come.
    private var remaining = 0
    private var extensionOctets = 0
    private let maximumExtensionOctets: Int

    init(maximumExtensionOctets: Int) { self.maximumExtensionOctets = maximumExtensionOctets }

    mutating func scan(_ octets: some RandomAccessCollection<UInt8>) -> Progress {
        var index = octets.startIndex
        while index < octets.endIndex {
            if state == .data {
                let available = octets.distance(from: index, to: octets.endIndex)
                let count = min(remaining, available)
                index = octets.index(index, offsetBy: count)
                remaining -= count
                if remaining == 0 { state = .dataReturn }
                continue
            }
            if let fault = step(octets[index]) { return .fault(fault) }
            index = octets.index(after: index)
            if state == .finished { return .finished(octets.distance(from: octets.startIndex, to: index)) }
        }
        return .unfinished
    }

    private mutating func step(_ octet: UInt8) -> HTTPFault? {
        switch state {
        case .size(let digits): return size(octet, digits)
        case .chunkExtension: return chunkExtension(octet)
        case .sizeLineFeed: return expect(octet, lineFeed, then: remaining == 0 ? .lastReturn : .data)
        case .data, .finished: return nil
        case .dataReturn: return expect(octet, carriageReturn, then: .dataLineFeed)
        case .dataLineFeed: return expect(octet, lineFeed, then: .size(digits: 0))
        // Anything else begins a trailer field.
        case .lastReturn: return expect(octet, carriageReturn, then: .lastLineFeed, else: .trailers)
        case .lastLineFeed: return expect(octet, lineFeed, then: .finished)
        }
    }

    private mutating func size(_ octet: UInt8, _ digits: Int) -> HTTPFault? {
        if let value = Hexadecimal.value(octet) {
            guard digits < Self.maximumDigits else { return .malformed }
            remaining = remaining << 4 | Int(value)
            state = .size(digits: digits + 1)
            return nil
        }
        guard digits > 0 else { return .malformed }
        switch octet {
        case carriageReturn: state = .sizeLineFeed
        case UInt8(ascii: ";"): state = .chunkExtension
        default: return .malformed
        }
        return nil
    }

    private mutating func chunkExtension(_ octet: UInt8) -> HTTPFault? {
        if octet == carriageReturn {
            state = .sizeLineFeed
            return nil
        }
        guard octet >= 0x20, octet != 0x7F else { return .malformed }
        extensionOctets += 1
        return extensionOctets > maximumExtensionOctets ? .chunkExtension : nil
    }

    private mutating func expect(
        _ octet: UInt8, _ expected: UInt8, then next: State, else fault: HTTPFault = .malformed
    ) -> HTTPFault? {
        guard octet == expected else { return fault }
        state = next
        return nil
    }

    private var carriageReturn: UInt8 { 0x0D }
    private var lineFeed: UInt8 { 0x0A }
}
