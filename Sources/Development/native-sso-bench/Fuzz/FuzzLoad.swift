import BrokerHarness
import Glibc
import StrictCoding

/// Sends bent requests, pipelined over several connections, and checks every answer.
struct FuzzLoad {
    /// Milliseconds.
    private static let patience: Int32 = 30_000
    /// Attempts per request. A request behind a bent one on the same connection is sent again when the connection ends.
    private static let attempts = 64

    /// The limit of requests that wait for one kind of connection.
    private static let queue = 64

    let forge: RequestForge
    let ports: [FuzzTransport: UInt16]
    /// Connections of each kind.
    let connections: Int

    /// What came of it.
    struct Result {
        var requests = 0
        /// By status; 0 is a stream of HTTP/2 that was ended for what came on it.
        var answers: [Int: Int] = [:]
        var findings: [Finding] = []
        var count = 0
    }

    struct Finding {
        let fault: String
        var request: FuzzedRequest?
        var answer: HTTPAnswer?
    }

    /// - Parameter range: The numbers of the requests.
    func run(_ range: Range<Int>) throws -> Result {
        var next = range.lowerBound
        return try run {
            guard next < range.upperBound else { return nil }
            next += 1
            return try forge.request(next - 1)
        }
    }

    /// - Parameter next: One request after the other.
    func run(_ next: () throws -> FuzzedRequest?) throws -> Result {
        var result = Result()
        var isOver = false
        var waiting: [FuzzTransport: [FuzzedRequest]] = [:]
        var peers: [FuzzTransport: [any FuzzPeer]] = [:]
        // What was under way where a connection ended, the last of it.
        var suspects: [FuzzedRequest] = []
        while true {
            // Stops when one queue is full.
            while !isOver, waiting.values.allSatisfy({ $0.count < Self.queue }) {
                if let request = try next() {
                    waiting[request.transport, default: []].append(request)
                } else {
                    isOver = true
                }
            }
            for transport in FuzzTransport.allCases {
                do {
                    try fill(transport, &peers[transport, default: []], &waiting[transport, default: []])
                } catch {
                    result.note(Finding(fault: "\(error)"))
                    for suspect in suspects { result.note(Finding(fault: "it may be why \(error)", request: suspect)) }
                    return result
                }
            }
            let busy = peers.values.joined().filter { $0.oldest != nil || $0.socket.wantsToSend }
            if busy.isEmpty, isOver, waiting.values.allSatisfy(\.isEmpty) { return result }
            guard
                wait(
                    for: busy,
                    { peer in
                        peer.flush()
                        for event in peer.receive() {
                            if case .end(let unanswered) = event {
                                suspects = (suspects + unanswered).suffix(Self.queue)
                            }
                            take(event, &result, &waiting)
                        }
                    })
            else {
                if busy.isEmpty { result.note(Finding(fault: "no listener accepts the waiting requests")) }
                for peer in busy {
                    result.note(Finding(fault: "no answer within \(Self.patience) ms", request: peer.oldest))
                }
                return result
            }
            for transport in FuzzTransport.allCases {
                if transport.isLone { result.requests += peers[transport, default: []].count(where: \.hasEnded) }
                peers[transport]?.removeAll(where: \.hasEnded)
            }
        }
    }

    private func fill(_ transport: FuzzTransport, _ peers: inout [any FuzzPeer], _ waiting: inout [FuzzedRequest])
        throws
    {
        guard !waiting.isEmpty else { return }
        var sent = 0
        while sent < waiting.count {
            var peer = transport.isLone ? nil : peers.first { $0.takes(waiting[sent]) }
            if peer == nil, peers.count < connections {
                peers.append(try open(transport))
                peer = peers.last
            }
            guard let peer else { break }
            peer.enqueue(waiting[sent])
            sent += 1
        }
        waiting.removeFirst(sent)
        for peer in peers { peer.flush() }
    }

    private func open(_ transport: FuzzTransport) throws -> any FuzzPeer {
        let port = ports[transport] ?? 0
        return switch transport {
        case .http1, .internal: try FuzzConnection(port: port)
        case .lone: try FuzzConnection(port: port, isLone: true)
        case .http2: try FuzzFrameConnection(port: port)
        case .loneFrames: try FuzzFrameConnection(port: port, isLone: true)
        }
    }

    /// - Returns: Whether anything came within ``patience``.
    private func wait(for peers: [any FuzzPeer], _ handle: (any FuzzPeer) -> Void) -> Bool {
        var watched = peers.map { peer in
            pollfd(
                fd: peer.socket.descriptor, events: Int16(peer.socket.wantsToSend ? POLLIN | POLLOUT : POLLIN),
                revents: 0)
        }
        guard poll(&watched, nfds_t(watched.count), Self.patience) > 0 else { return false }
        for (index, entry) in watched.enumerated() where entry.revents != 0 { handle(peers[index]) }
        return true
    }

    private func take(_ event: FuzzEvent, _ result: inout Result, _ waiting: inout [FuzzTransport: [FuzzedRequest]]) {
        switch event {
        // A call past its deadline, as on a stalled disk: the app may send the same again. Each time, it is a finding.
        case .answer(let answer, var request)
        where answer.isOutage && !request.transport.isLone && request.attempts + 1 < Self.attempts:
            request.attempts += 1
            waiting[request.transport, default: []].append(request)
        case .answer(let answer, let request):
            if !request.transport.isLone { result.requests += 1 }
            result.answers[answer.status, default: 0] += 1
            if let fault = FuzzVerdict.fault(of: answer, to: request) {
                result.note(Finding(fault: fault, request: request, answer: answer))
            }
        case .reset(let request, let code):
            result.requests += 1
            result.answers[0, default: 0] += 1
            if request.message.isWellFormed {
                result.note(
                    Finding(fault: "its stream was ended with \(code), though it is well-formed", request: request))
            }
        case .nonsense(let request):
            result.note(Finding(fault: "what came back is no answer", request: request))
        case .end(let unanswered):
            // What was behind a request after which the server closes is sent again, as RFC 9112 §9.3.2 has it.
            for var request in unanswered.reversed() where !request.transport.isLone {
                request.attempts += 1
                if request.attempts < Self.attempts {
                    waiting[request.transport, default: []].insert(request, at: 0)
                } else {
                    result.requests += 1
                    result.note(Finding(fault: "the connection ended under it, each time", request: request))
                }
            }
        }
    }
}

extension FuzzLoad.Result {
    /// The first few are kept.
    mutating func note(_ finding: FuzzLoad.Finding) {
        count += 1
        if findings.count < 20 { findings.append(finding) }
    }

    mutating func add(_ other: FuzzLoad.Result) {
        requests += other.requests
        answers.merge(other.answers) { $0 + $1 }
        for finding in other.findings { note(finding) }
        count += other.count - other.findings.count
    }
}

extension HTTPAnswer {
    /// A logout token is answered with 400 in an outage too: Back-Channel Logout 1.0 §2.8.
    fileprivate var isOutage: Bool {
        status == 503 || status == 400 && json?.string("error")?.hasSameOctets(as: "temporarily_unavailable") == true
    }
}
