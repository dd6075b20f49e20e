/// Whether a client has begun something on an HTTP/2 connection that it has not finished: the preface, a frame, or a header
/// block over several frames. RFC 9113 §3.4, §4.1, §4.3.
///
/// Looks at nothing but the sizes of frames and the flag END_HEADERS; whether they make sense is for the parser to say.
struct FrameProgress {
    private static let prefaceOctets = 24
    private static let headerOctets = 9
    private static let data: UInt8 = 0x0
    private static let headers: UInt8 = 0x1
    private static let continuation: UInt8 = 0x9
    private static let endHeaders: UInt8 = 0x4

    private enum State {
        /// Octets of the preface or of a payload that are still to come.
        case skipping(Int)
        /// Octets of a frame's header so far.
        case header([UInt8])
    }

    private var state = State.skipping(prefaceOctets)
    private var isBlockOpen = false
    /// The body of a request, which has a limit of its own.
    private var isData = false

    var isUnfinished: Bool {
        switch state {
        case .skipping: !isData
        case .header(let octets): !octets.isEmpty || isBlockOpen
        }
    }

    /// - Returns: How many things were finished: each is progress, except the pieces of one header block.
    mutating func scan(_ octets: some RandomAccessCollection<UInt8>) -> Int {
        var finished = 0
        var rest = octets[...]
        while !rest.isEmpty {
            switch state {
            case .skipping(let missing):
                let count = min(missing, rest.count)
                rest = rest.dropFirst(count)
                state = count == missing ? .header([]) : .skipping(missing - count)
                if count == missing, !isBlockOpen { finished += 1 }
            case .header(var header):
                let count = min(Self.headerOctets - header.count, rest.count)
                header += rest.prefix(count)
                rest = rest.dropFirst(count)
                state = header.count == Self.headerOctets ? begin(header) : .header(header)
            }
        }
        return finished
    }

    private mutating func begin(_ header: [UInt8]) -> State {
        let length = header.prefix(3).reduce(0) { $0 << 8 | Int($1) }
        if [Self.headers, Self.continuation].contains(header[3]) { isBlockOpen = header[4] & Self.endHeaders == 0 }
        isData = header[3] == Self.data && length > 0
        return length == 0 ? .header([]) : .skipping(length)
    }
}
