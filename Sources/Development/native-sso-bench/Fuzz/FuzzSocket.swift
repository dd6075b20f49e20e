import BrokerHarness
import Glibc

/// A connection over which requests are sent, and what comes of them.
protocol FuzzPeer: AnyObject {
    var socket: FuzzSocket { get }
    /// The first of the requests that are not answered yet.
    var oldest: FuzzedRequest? { get }
    /// Nothing more is answered here.
    var hasEnded: Bool { get }
    func takes(_ request: FuzzedRequest) -> Bool
    func enqueue(_ request: FuzzedRequest)
    func flush()
    func receive() -> [FuzzEvent]
}

enum FuzzEvent {
    /// An answer, and what it answers.
    case answer(HTTPAnswer, FuzzedRequest)
    /// The stream of this request was ended, and no other. RFC 9113 §5.4.2.
    case reset(FuzzedRequest, code: UInt32)
    /// What came is no HTTP, or answers nothing that was asked.
    case nonsense(FuzzedRequest?)
    /// The connection is over; these were never answered, or may not have been.
    case end(unanswered: [FuzzedRequest])
}

/// A non-blocking connection to this machine, with its unsent octets.
final class FuzzSocket {
    let descriptor: Int32
    private var outgoing: [UInt8] = []
    private var sent = 0

    var wantsToSend: Bool { sent < outgoing.count }

    init(port: UInt16) throws { descriptor = try LoopbackSocket.connect(to: port, patience: 10, isNonBlocking: true) }

    deinit { close(descriptor) }

    func enqueue(_ octets: [UInt8]) {
        if sent == outgoing.count { (outgoing, sent) = ([], 0) }
        outgoing += octets
    }

    /// Sends what the kernel takes. A server that has seen enough may close before; what it said counts.
    /// - Returns: Whether all of it is sent.
    func flush() -> Bool {
        while sent < outgoing.count {
            let count = outgoing[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EAGAIN { return false }
            guard count > 0 else {
                sent = outgoing.count
                break
            }
            sent += count
        }
        return true
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The octets available now, possibly none; `nil` at the end.
    func receive() -> [UInt8]? {
        var portion = [UInt8](repeating: 0, count: 32_768)
        let count = recv(descriptor, &portion, portion.count, 0)
        if count < 0, errno == EAGAIN { return [] }
        return count > 0 ? Array(portion[..<count]) : nil
    }
}
