/// Whether a client has begun something on an HTTP/2 connection and not finished it: the preface, a frame, or a header
/// block over several frames. RFC 9113 §3.4, §4.1, §4.3.
///
/// Reads only the types and sizes of frames and the flag END_HEADERS; the parser checks the rest.
struct FrameProgress {
    private static let prefaceOctets = 24
    private static let headerOctets = 9
    private static let data: UInt8 = 0x0
    private static let headers: UInt8 = 0x1
    private static let windowUpdate: UInt8 = 0x8
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
    /// The body of a request; it has its own time limit.
    private var isData = false
    /// WINDOW_UPDATE frames, less ``windowUpdatesPerStream`` for each header block.
    private var windowUpdates = 0

    /// An honest client sends one or two for each DATA frame, and an answer has few.
    private static let windowUpdatesPerStream = 16
    private static let mostWindowUpdates = 200

    /// Whether the client sends WINDOW_UPDATE frames beyond all use. NIO does not limit them.
    var isWindowUpdateFlood: Bool { windowUpdates > Self.mostWindowUpdates }

    var isUnfinished: Bool {
        switch state {
        case .skipping: !isData
        case .header(let octets): !octets.isEmpty || isBlockOpen
        }
    }

    /// - Returns: The octets up to and including the end of a frame or of the preface, or all of them; and whether they
    ///   finish something. Each end is progress, except the pieces of one header block.
    mutating func scan(_ octets: some RandomAccessCollection<UInt8>) -> (count: Int, isProgress: Bool) {
        var count = 0
        while count < octets.count {
            let rest = octets.dropFirst(count)
            switch state {
            case .skipping(let missing) where rest.count < missing:
                state = .skipping(missing - rest.count)
                return (octets.count, false)
            case .skipping(let missing):
                state = .header([])
                return (count + missing, !isBlockOpen)
            case .header(let begun):
                let header = begun + rest.prefix(Self.headerOctets - begun.count)
                count += header.count - begun.count
                guard header.count == Self.headerOctets else {
                    state = .header(header)
                    return (count, false)
                }
                state = begin(header)
                if case .header = state { return (count, false) }
            }
        }
        return (count, false)
    }

    private mutating func begin(_ header: [UInt8]) -> State {
        let length = header.prefix(3).reduce(0) { $0 << 8 | Int($1) }
        if [Self.headers, Self.continuation].contains(header[3]) { isBlockOpen = header[4] & Self.endHeaders == 0 }
        isData = header[3] == Self.data && length > 0
        if header[3] == Self.windowUpdate { windowUpdates += 1 }
        if header[3] == Self.headers { windowUpdates = max(0, windowUpdates - Self.windowUpdatesPerStream) }
        return length == 0 ? .header([]) : .skipping(length)
    }
}
