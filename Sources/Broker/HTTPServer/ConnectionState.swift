import NIOCore
import NIOHTTP1

/// The state of one HTTP/1 connection: what is being read, how many answers are owed, whether it ends after them.
///
/// Requests are accepted whole or not at all, and answered in order. A fault ends the intake: it is answered like a
/// request, and nothing after it is read.
struct ConnectionState {
    private enum Intake {
        /// Between requests.
        case open
        case reading(HTTPRequestHead, body: ByteBuffer)
        /// Nothing more is accepted.
        case shut
    }

    private let limits: ListenerLimits
    private let origin: RequestOrigin
    private let share: BufferShare
    private var intake = Intake.open
    /// Octets taken from the share for the head and the body that are being read.
    private var taken = (head: 0, body: 0)
    /// Of the request that is being read, even if it was refused.
    private var headers = HTTPHeaders()
    private var isDraining = false
    /// One for each answer that is owed, oldest first: whether it may have a body. Not for HEAD.
    private var debts = CircularBuffer<Bool>(initialCapacity: 2)

    private var owed: Int { debts.count }

    init(limits: ListenerLimits, origin: RequestOrigin, share: BufferShare) {
        self.limits = limits
        self.origin = origin
        self.share = share
    }

    /// Whether a request waits behind the one that is being answered. Then nothing more is read from the network, and
    /// what the client sends waits in its own buffers.
    var isBehind: Bool { owed > 1 }

    /// The sender of the request that is being read.
    var client: ClientAddress? { origin.client(headers) }

    /// Whether nothing is being read and no answer is owed.
    var isIdle: Bool {
        guard case .open = intake else { return false }
        return owed == 0
    }

    enum HeadAction {
        case none
        /// RFC 9110 §10.1.1: the client waits for it before it sends the body.
        case writeContinue
        case deliver(HTTPFault)
    }

    mutating func received(_ head: HTTPRequestHead) -> HeadAction {
        guard case .open = intake else { return .none }
        headers = head.headers
        if let fault = HeadRules.fault(of: head, limits: limits) { return .deliver(shut(fault)) }
        taken.head = Self.room(for: head)
        guard share.take(taken.head) else {
            taken.head = 0
            return .deliver(shut(.bodyMemory))
        }
        intake = .reading(head, body: ByteBuffer())
        // While an answer is owed, the client could take an interim response for part of it.
        return owed == 0 && HeadRules.expectsContinue(head) ? .writeContinue : .none
    }

    mutating func received(_ part: ByteBuffer) -> HTTPFault? {
        guard case .reading(let head, var body) = intake else { return nil }
        intake = .open  // releases the reference to `body`, so that appending does not copy it
        let length = body.readableBytes + part.readableBytes
        guard length <= limits.bodySize else { return shut(.bodyTooLarge) }
        let room = Self.room(for: length)
        if room > taken.body {
            guard share.take(room - taken.body) else { return shut(.bodyMemory) }
            taken.body = room
            body.reserveCapacity(room)
        }
        // A copy: `part` would keep the whole read buffer alive.
        body.writeImmutableBuffer(part)
        intake = .reading(head, body: body)
        return nil
    }

    /// The storage of a head: the target and all fields, each with 32 octets for its strings (RFC 9113 §6.5.2).
    private static func room(for head: HTTPRequestHead) -> Int {
        head.headers.reduce(head.uri.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }

    /// The storage of a body: a power of two, as `ByteBuffer` allocates it.
    private static func room(for length: Int) -> Int {
        var room = 256
        while room < length { room *= 2 }
        return room
    }

    mutating func receivedEnd(trailers: HTTPHeaders?) -> Arrival? {
        guard case .reading(let head, let body) = intake else { return nil }
        if let trailers, !trailers.isEmpty { return .fault(shut(.trailers), from: client) }
        // The parser stops after a request for an upgrade, because another protocol could follow.
        intake = head.isKeepAlive && !head.headers.contains(name: "upgrade") ? .open : .shut
        debts.append(head.method != .HEAD)
        defer {
            headers = HTTPHeaders()
            taken = (0, 0)
        }
        let memory = BufferedRequest(of: share, taken.head + taken.body)
        return .request(
            ReceivedRequest(head: head, body: body, memory: memory, client: client, trace: origin.trace(headers)))
    }

    /// Ends the intake with a fault. `nil` if the intake has already ended.
    mutating func fail(_ fault: HTTPFault) -> HTTPFault? {
        if case .shut = intake { return nil }
        return shut(fault)
    }

    /// The client has closed its side.
    /// - Returns: Whether no answer is owed, so that the connection can be closed.
    mutating func inputClosed() -> Bool {
        drop()
        intake = .shut
        return owed == 0
    }

    struct AnswerAction: Equatable {
        let hasBody: Bool
        /// This is the last answer: it says so, and the connection ends after it.
        let closes: Bool
    }

    mutating func answering() -> AnswerAction {
        let debt = debts.popFirst()
        let closes = owed == 0 && isLast
        // A later request cannot be answered, so it must not be carried out.
        if closes {
            intake = .shut
            drop()
        }
        return AnswerAction(hasBody: debt ?? true, closes: closes)
    }

    /// The connection has ended: owed answers are dropped.
    mutating func end() {
        intake = .shut
        drop()
        debts.removeAll()
    }

    /// The listener stops. Requests that have begun are still answered.
    mutating func drain() { isDraining = true }

    private var isLast: Bool {
        switch intake {
        case .open: isDraining
        case .reading: false
        case .shut: true
        }
    }

    private mutating func shut(_ fault: HTTPFault) -> HTTPFault {
        intake = .shut
        drop()
        debts.append(true)
        return fault
    }

    private mutating func drop() {
        share.giveBack(taken.head + taken.body)
        taken = (0, 0)
    }
}
