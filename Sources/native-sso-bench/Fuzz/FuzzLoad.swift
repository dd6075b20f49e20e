import Glibc

/// Sends bent requests over several connections, many under way on each, and looks at every answer.
struct FuzzLoad {
    private static let patience: Int32 = 30_000
    private static let depth = 16

    let forge: RequestForge
    let port: UInt16
    let connections: Int

    /// What came of it.
    struct Result {
        var requests = 0
        /// By status.
        var answers: [Int: Int] = [:]
        var findings: [Finding] = []
        var count = 0
    }

    struct Finding {
        let fault: String
        let request: FuzzedRequest?
        let answer: FuzzAnswer?
    }

    /// - Parameter range: The numbers of the requests.
    func run(_ range: Range<Int>) throws -> Result {
        var result = Result()
        var next = range.lowerBound
        var again: [FuzzedRequest] = []
        var held: FuzzedRequest?
        var peers: [FuzzConnection] = []
        var lone: [FuzzConnection] = []
        func make() throws -> FuzzedRequest? {
            if let request = again.popLast() { return request }
            if let request = held {
                held = nil
                return request
            }
            guard next < range.upperBound else { return nil }
            next += 1
            return try forge.request(next - 1)
        }
        while true {
            while peers.count < connections { peers.append(try FuzzConnection(port: port, isLone: false)) }
            filling: for peer in peers {
                while peer.underWay.count < Self.depth, let request = try make() {
                    if request.isFramed {
                        peer.enqueue(request)
                    } else if lone.count < connections {
                        let connection = try FuzzConnection(port: port, isLone: true)
                        connection.enqueue(request)
                        connection.flush()
                        lone.append(connection)
                    } else {
                        held = request
                        break filling
                    }
                }
                peer.flush()
            }
            let busy = peers.filter { !$0.underWay.isEmpty } + lone
            if busy.isEmpty { break }
            try wait(for: busy) { peer in
                if peer.wantsToSend { peer.flush() }
                for event in peer.receive() { take(event, peer, &result, &again) }
            }
            peers.removeAll(where: \.hasEnded)
            result.requests += lone.count(where: \.hasEnded)
            lone.removeAll(where: \.hasEnded)
        }
        return result
    }

    private func wait(for peers: [FuzzConnection], _ handle: (FuzzConnection) -> Void) throws {
        var watched = peers.map { peer in
            pollfd(fd: peer.descriptor, events: Int16(peer.wantsToSend ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
        guard poll(&watched, nfds_t(watched.count), Self.patience) > 0 else {
            throw ConnectionError.silence(seconds: Int(Self.patience) / 1000)
        }
        for (index, entry) in watched.enumerated() where entry.revents != 0 { handle(peers[index]) }
    }

    private func take(
        _ event: FuzzConnection.Event, _ peer: FuzzConnection, _ result: inout Result, _ again: inout [FuzzedRequest]
    ) {
        switch event {
        case .answer(let answer, let request):
            if !peer.isLone { result.requests += 1 }
            result.answers[answer.status, default: 0] += 1
            if let fault = FuzzVerdict.fault(of: answer, to: request) {
                result.note(Finding(fault: fault, request: request, answer: answer))
            }
        case .nonsense(let request):
            result.note(Finding(fault: "what came back is no answer", request: request, answer: nil))
        case .end(let unanswered):
            // What was pipelined behind a request after which the server closes is sent again, as RFC 9112 §9.3.2 has it.
            again += unanswered.reversed()
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
