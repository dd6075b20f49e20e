/// Reads the framing of a chunked body alongside the parser, only more strictly: the parser takes a chunk of 2^64 − 1 octets
/// for a chunk, and skips an extension of any length. RFC 9112 §7.1.
struct ChunkScanner {
    enum Progress: Equatable {
        /// Everything was framing or body, and more is to come.
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

    /// A chunk that needs more digits is larger than any body that is accepted.
    private static let maximumDigits = 8

    private var state = State.size(digits: 0)
    /// Of the chunk that is being read, octets that are still to come.
    private var remaining = 0
    private var extensionOctets = 0
    private let maximumExtensionOctets: Int

    init(maximumExtensionOctets: Int) {
        self.maximumExtensionOctets = maximumExtensionOctets
    }

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
        if let value = Self.value(ofDigit: octet) {
            guard digits < Self.maximumDigits else { return .malformed }
            remaining = remaining << 4 | value
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

    private static func value(ofDigit octet: UInt8) -> Int? {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(octet - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(octet - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(octet - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    private var carriageReturn: UInt8 { 0x0D }
    private var lineFeed: UInt8 { 0x0A }
}
