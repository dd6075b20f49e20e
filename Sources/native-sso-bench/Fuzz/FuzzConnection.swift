import Glibc

/// A connection with several requests under way, which are answered in their order.
final class FuzzConnection {
    private let connection: Int32
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var incoming: [UInt8] = []
    private var read = 0
    /// Sent and not yet answered, oldest first.
    private(set) var underWay: [FuzzedRequest] = []
    /// The server has said that it will answer nothing more here.
    private(set) var hasEnded = false
    /// It carries one request that may not end where it says, and then the end of the stream.
    let isLone: Bool

    var descriptor: Int32 { connection }
    var wantsToSend: Bool { sent < outgoing.count }

    init(port: UInt16, isLone: Bool) throws {
        self.isLone = isLone
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in.loopback(port)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(connection)
            throw ConnectionError.refused(port: port, errno: code)
        }
        var noDelay: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(connection, F_SETFL, O_NONBLOCK)
    }

    deinit { close(connection) }

    func enqueue(_ request: FuzzedRequest) {
        underWay.append(request)
        if sent == outgoing.count { (outgoing, sent) = ([], 0) }
        outgoing += request.octets
    }

    /// Sends what the kernel takes. A server that has seen enough may close before; what it said counts.
    func flush() {
        while sent < outgoing.count {
            let count = outgoing[sent...].withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { return sent = outgoing.count }
            sent += count
        }
        if isLone { shutdown(connection, Int32(SHUT_WR)) }
    }

    enum Event {
        /// An answer, and what it answers.
        case answer(FuzzAnswer, FuzzedRequest)
        /// What came is no HTTP, or answers nothing that was asked.
        case nonsense(FuzzedRequest?)
        /// The connection is over; these were never answered.
        case end(unanswered: [FuzzedRequest])
    }

    /// What is there to read.
    func receive() -> [Event] {
        var portion = [UInt8](repeating: 0, count: 32_768)
        let count = recv(connection, &portion, portion.count, 0)
        if count < 0, errno == EAGAIN { return [] }
        if count > 0 { incoming += portion[..<count] }
        var events: [Event] = []
        while !hasEnded, read < incoming.count {
            switch FuzzAnswer.read(incoming[read...]) {
            case .incomplete:
                if count <= 0, !isLone { events.append(.nonsense(underWay.first)) }
                if count > 0 { return events }
                read = incoming.count
            case .notHTTP:
                hasEnded = true
                return events + [.nonsense(underWay.first)]
            case .answer(let answer, let length):
                read += length
                guard let request = underWay.first else { return events + [.nonsense(nil)] }
                // More may answer a lone request than one: it could hold two.
                if answer.status >= 200, !isLone { underWay.removeFirst() }
                events.append(.answer(answer, request))
                hasEnded = answer.isLast && !isLone
            }
        }
        if read == incoming.count { (incoming, read) = ([], 0) }
        guard count <= 0 || hasEnded else { return events }
        hasEnded = true
        return events + [.end(unanswered: isLone ? [] : underWay)]
    }
}
