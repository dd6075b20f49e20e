import BrokerHarness

/// A connection of HTTP/1.1 with several requests under way, which are answered in their order.
final class FuzzConnection: FuzzPeer {
    private static let depth = 16

    let socket: FuzzSocket
    private var reader = AnswerReader()
    /// Sent and not yet answered, oldest first.
    private var underWay: [FuzzedRequest] = []
    private(set) var hasEnded = false
    /// It carries one request that may not end where it says, and then the end of the stream.
    private let isLone: Bool

    var oldest: FuzzedRequest? { underWay.first }

    init(port: UInt16, isLone: Bool = false) throws {
        self.isLone = isLone
        socket = try FuzzSocket(port: port)
    }

    func takes(_ request: FuzzedRequest) -> Bool { underWay.count < (isLone ? 1 : Self.depth) }

    func enqueue(_ request: FuzzedRequest) {
        underWay.append(request)
        socket.enqueue(request.rawOctets ?? request.message.octets)
    }

    func flush() {
        if socket.flush(), isLone { socket.finishSending() }
    }

    func receive() -> [FuzzEvent] {
        let portion = socket.receive()
        if portion?.isEmpty == true { return [] }
        reader.append(portion ?? [])
        var events: [FuzzEvent] = []
        while !hasEnded, !reader.isEmpty {
            let answer: HTTPAnswer?
            do { answer = try reader.next(showsInterim: true) } catch {
                hasEnded = true
                return events + [.nonsense(underWay.first)]
            }
            guard let answer else {
                if portion != nil { return events }
                if !isLone { events.append(.nonsense(underWay.first)) }
                break
            }
            guard let request = underWay.first else { return events + [.nonsense(nil)] }
            // More may answer a lone request than one: it could hold two.
            if answer.status >= 200, !isLone { underWay.removeFirst() }
            events.append(.answer(answer, request))
            hasEnded = answer["Connection"] == "close" && !isLone
        }
        guard portion == nil || hasEnded else { return events }
        hasEnded = true
        return events + [.end(unanswered: underWay)]
    }
}
