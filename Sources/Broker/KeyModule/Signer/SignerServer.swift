import Dispatch
package import NativeSSO
import Synchronization

/// What the signer reports for its log.
package enum SignerEvent: Sendable {
    case connected(user: UInt32)
    /// Another account, or one that the system does not name.
    case strangerRefused(user: UInt32?)
    case disconnected(user: UInt32, reason: String?)
    /// A message that the signer did not sign or tag.
    case refused(user: UInt32, kid: String, reason: String)
    case keyFailed(kid: String, reason: String)
}

/// Serves the keys of a provider on a Unix socket to brokers of other accounts.
///
/// A connection has a thread that reads. It answers what needs only a key in this process itself: the tags of all
/// requests that arrived together with one write, then the signatures. A request that waits for a token runs as a task.
package final class SignerServer: Sendable {
    private let keys: SignerKeys
    private let users: Set<UInt32>
    private let socket: SignerSocket
    private let connections = Mutex<[ObjectIdentifier: SignerConnection]>([:])
    private let report: @Sendable (SignerEvent) -> Void
    private let accepting = DispatchQueue(label: "signer")

    private static let mostConnections = 256

    /// Binds the socket.
    /// - Parameters:
    ///   - users: The accounts whose brokers may use the keys.
    ///   - rate: Calls of one account in a second.
    package init(
        at path: String, serving provider: any KeyProvider, to users: Set<UInt32>, policy: SigningPolicy, rate: Int,
        clock: any WallClock, report: @escaping @Sendable (SignerEvent) -> Void
    ) throws(KeyError) {
        self.users = users
        self.report = report
        keys = SignerKeys(provider, policy, CallRate(rate), clock: clock, report: report)
        do throws(SignerDefect) { socket = try SignerSocket.listen(at: path) } catch { throw .signer(error) }
    }

    /// What was signed and tagged since the start.
    package var counts: [SignerCount] { keys.counts }

    package func start() {
        accepting.async { [self] in
            while let socket = socket.accept() { admit(socket) }
        }
    }

    package func stop() {
        socket.end()
        for connection in connections.withLock({ Array($0.values) }) { connection.end() }
    }

    private func admit(_ socket: SignerSocket) {
        guard let user = socket.peer, users.contains(user) else {
            report(.strangerRefused(user: socket.peer))
            let name = socket.peer.map(String.init) ?? "unknown"
            return turnAway(socket, "the account \(name) is not in signer.users")
        }
        let connection = SignerConnection(socket, user, keys)
        let isTaken = connections.withLock { connections in
            guard connections.count < Self.mostConnections else { return false }
            connections[ObjectIdentifier(connection)] = connection
            return true
        }
        guard isTaken else { return turnAway(socket, "there are \(Self.mostConnections) connections already") }
        report(.connected(user: user))
        DispatchQueue(label: "signer connection").async { [self] in
            let reason = connection.serve()
            connections.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(connection)) }
            report(.disconnected(user: user, reason: reason))
        }
    }

    private func turnAway(_ socket: SignerSocket, _ reason: String) {
        var octets: [UInt8] = []
        SignerProtocol.append(
            frame: SignerProtocol.greeting, [SignerProtocol.version], Array(reason.utf8), to: &octets)
        socket.limit(SignerSocket.sending, seconds: 1)
        _ = socket.write(octets)
    }
}

private final class SignerConnection: Sendable {
    private let socket: SignerSocket
    private let user: UInt32
    private let keys: SignerKeys
    private let writing = DispatchQueue(label: "signer answers")
    private let turn = Mutex(())
    private let waiting = Atomic(0)

    /// Requests of one connection that wait for a provider.
    private static let mostWaiting = 1024
    private static let bufferCount = 256 << 10

    init(_ socket: SignerSocket, _ user: UInt32, _ keys: SignerKeys) {
        self.socket = socket
        self.user = user
        self.keys = keys
    }

    func end() { socket.end() }

    /// Returns when the connection has ended, with the reason if the other side spoke nonsense.
    func serve() -> String? {
        socket.limit(SignerSocket.receiving, seconds: 5)
        socket.limit(SignerSocket.sending, seconds: 5)
        defer { socket.end() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferCount, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var frames = FrameReader()
        var isGreeted = false
        do throws(SignerDefect) {
            while unsafe socket.read(into: &frames, buffer) {
                var answers: [UInt8] = []
                var requests: [SignerRequest] = []
                while let frame = try frames.next() {
                    if isGreeted {
                        guard let request = SignerRequest(frame) else {
                            throw .nonsense("a frame that is not a request")
                        }
                        requests.append(request)
                    } else {
                        try greet(frame, &answers)
                        isGreeted = true
                        socket.limit(SignerSocket.receiving, seconds: 0)
                    }
                }
                // A tag takes a tenth of a signature's time, and a broker asks for one before it asks its database.
                let half = requests.partition { $0.operation == .sign }
                for part in [requests[..<half], requests[half...]] {
                    for request in part { answer(request, &answers) }
                    guard answers.isEmpty || write(answers) else { return "it does not read the answers" }
                    answers = []
                }
            }
            return isGreeted ? nil : "there was no greeting"
        } catch {
            return error.description
        }
    }

    private func greet(_ frame: ArraySlice<UInt8>, _ answers: inout [UInt8]) throws(SignerDefect) {
        guard frame.elementsEqual(SignerProtocol.greeting + [SignerProtocol.version]) else {
            throw .nonsense("no greeting of version \(SignerProtocol.version)")
        }
        SignerProtocol.append(frame: SignerProtocol.greeting, [SignerProtocol.version], to: &answers)
    }

    private func answer(_ request: SignerRequest, _ answers: inout [UInt8]) {
        guard waiting.load(ordering: .relaxed) < Self.mostWaiting else {
            return append(
                SignerKeys.Answer(.busy, text: "\(Self.mostWaiting) calls wait"), to: request, &answers)
        }
        switch keys.begin(request, for: user) {
        case .done(.success(let answer)): append(answer, to: request, &answers)
        case .coming(let rest):
            waiting.add(1, ordering: .relaxed)
            Task { [self] in
                let answer: SignerKeys.Answer
                switch await rest() {
                case .success(let made): answer = made
                }
                waiting.subtract(1, ordering: .relaxed)
                writing.async { [self] in
                    var answers: [UInt8] = []
                    append(answer, to: request, &answers)
                    if !write(answers) { socket.end() }
                }
            }
        }
    }

    /// One thread at a time, so that no frame begins within another.
    private func write(_ answers: [UInt8]) -> Bool { turn.withLock { _ in socket.write(answers) } }

    private func append(_ answer: SignerKeys.Answer, to request: SignerRequest, _ answers: inout [UInt8]) {
        SignerProtocol.append(UInt32(clamping: 5 + answer.octets.count), to: &answers)
        SignerProtocol.append(request.number, to: &answers)
        answers.append(answer.status.rawValue)
        answers += answer.octets
    }
}
