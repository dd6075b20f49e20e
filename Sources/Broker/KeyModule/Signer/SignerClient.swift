import Dispatch
import NativeSSO
import Synchronization

/// A broker's connection to the signer. Many calls are in flight at once; what waits together goes out in one write.
///
/// Without a connection it refuses all calls at once, so that nothing is written for a token that cannot be signed. It connects
/// again after 0.1 s, then at growing distances of at most 2 s.
package final class SignerClient: Sendable {
    private struct State {
        var outgoing: [UInt8] = []
        var isWriting = false
        /// `nil` until it was greeted.
        var socket: SignerSocket?
        var failure: SignerDefect?
        /// The last answer, or the beginning of the connection.
        var heard = ContinuousClock.now
    }

    let path: String
    private let deadline: Duration
    private let calls: OpenCalls
    private let state = Mutex(State())
    private let reading = DispatchQueue(label: "signer answers")
    private let writing = DispatchQueue(label: "signer requests")

    private static let mostCalls = 8192
    private static let greetingSeconds = 2

    /// Connects in the background.
    package init(socket path: String, deadline: Duration = .seconds(3)) {
        self.path = path
        self.deadline = deadline
        calls = OpenCalls(patience: deadline, most: Self.mostCalls, late: .signer(.noAnswer))
        reading.async { [weak self] in Self.connect(self, pauseMilliseconds: 100) }
        // A signer that gives no answer at all loses its connection, so that the next calls are refused at once.
        calls.watch(for: self) { client in
            let silent = client.state.withLock { state in
                state.heard + client.deadline <= .now ? state.socket : nil
            }
            silent?.end()
        }
    }

    /// Why calls are refused now; `nil`: the connection stands, or is being made for the first time.
    var failure: SignerDefect? { state.withLock { $0.failure } }

    /// Begins a call. Its request leaves when a result is waited for.
    func begin(
        _ operation: SignerProtocol.Operation, key: [UInt8], message: [UInt8] = []
    ) -> Pending<[UInt8], KeyError> {
        .begin { () throws(KeyError) in
            let call = try state.withLock { state throws(KeyError) -> OpenCall in
                if let failure = state.failure { throw .signer(failure) }
                guard let call = calls.begin() else { throw .signer(.busy("\(Self.mostCalls) calls wait")) }
                SignerRequest.append(call.number, operation, key: key, message: message, to: &state.outgoing)
                return call
            }
            return .coming { [self] in
                await send()
                return await call.answer
            }
        }
    }

    /// Writes what waits. What else this thread has to do goes first, so that its requests leave in the same write.
    private func send() async {
        let isFirst = state.withLock { state in
            guard state.socket != nil, !state.isWriting, !state.outgoing.isEmpty else { return false }
            state.isWriting = true
            return true
        }
        guard isFirst else { return }
        await Task.yield()
        while let (socket, octets) = next() {
            let sent = socket.writeNow(octets)
            // The signer is slower than this broker: wait elsewhere.
            if sent < octets.count { return writing.async { [self] in write(octets, from: sent, to: socket) } }
        }
    }

    private func write(_ octets: [UInt8], from start: Int = 0, to socket: SignerSocket) {
        if !socket.write(octets, from: start) { socket.end() }
        while let (socket, octets) = next() { if !socket.write(octets) { socket.end() } }
    }

    private func next() -> (SignerSocket, [UInt8])? {
        state.withLock { state in
            guard let socket = state.socket, !state.outgoing.isEmpty else {
                state.isWriting = false
                return nil
            }
            defer { state.outgoing = [] }
            return (socket, state.outgoing)
        }
    }

    /// Keeps a connection until the client is released. Holds the client only while it is needed.
    private static func connect(_ client: SignerClient?, pauseMilliseconds: Int) {
        guard let client else { return }
        var pause = pauseMilliseconds
        let failure: SignerDefect
        do throws(SignerDefect) {
            let socket = try SignerSocket.connect(to: client.path, patience: greetingSeconds)
            failure = try client.serve(socket)
            pause = 100
        } catch {
            failure = error
        }
        client.lose(failure)
        let next = min(pause * 2, 2000)
        client.reading.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak client] in
            connect(client, pauseMilliseconds: next)
        }
    }

    /// Reads until the connection ends. Throws if it does not begin.
    private func serve(_ socket: SignerSocket) throws(SignerDefect) -> SignerDefect {
        var greeting: [UInt8] = []
        SignerProtocol.append(frame: SignerProtocol.greeting, [SignerProtocol.version], to: &greeting)
        // A signer that turns this broker away may have closed already, after it said why: read that.
        _ = socket.write(greeting)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var frames = FrameReader()
        var first: ArraySlice<UInt8>?
        while first == nil {
            guard unsafe socket.read(into: &frames, buffer) else {
                throw .socket(path: path, reason: "there was no greeting")
            }
            first = try frames.next()
        }
        try Self.check(first ?? [])
        socket.limit(SignerSocket.receiving, seconds: 0)
        begin(socket)
        do throws(SignerDefect) {
            repeat {
                var answers: [(OpenCall.Answer, number: UInt32)] = []
                while let frame = try frames.next() { answers.append(try answer(in: frame)) }
                state.withLock { $0.heard = .now }
                calls.give(answers)
            } while unsafe socket.read(into: &frames, buffer)
            return .lost(path: path)
        } catch {
            socket.end()
            return error
        }
    }

    private static func check(_ greeting: ArraySlice<UInt8>) throws(SignerDefect) {
        guard greeting.starts(with: SignerProtocol.greeting) else { throw .nonsense("no greeting") }
        let rest = greeting.dropFirst(SignerProtocol.greeting.count)
        guard rest.first == SignerProtocol.version else { throw .nonsense("another version of the protocol") }
        guard rest.count == 1 else { throw .turnedAway(String(decoding: rest.dropFirst(), as: UTF8.self)) }
    }

    private func begin(_ socket: SignerSocket) {
        let mustWrite = state.withLock { state in
            (state.socket, state.failure, state.heard) = (socket, nil, .now)
            // Who still writes goes on with the new connection.
            guard !state.isWriting, !state.outgoing.isEmpty else { return false }
            state.isWriting = true
            return true
        }
        if mustWrite { writing.async { [self] in write([], to: socket) } }
    }

    private func answer(in frame: ArraySlice<UInt8>) throws(SignerDefect) -> (OpenCall.Answer, number: UInt32) {
        guard frame.count >= 5, let status = SignerProtocol.Status(rawValue: frame[frame.startIndex + 4]) else {
            throw .nonsense("a frame that is not an answer")
        }
        let octets = Array(frame.dropFirst(5))
        var text: String { String(decoding: octets.prefix(1024), as: UTF8.self) }
        let result: OpenCall.Answer =
            switch status {
            case .done: .success(octets)
            case .refused: .failure(.signer(.refused(text)))
            case .unusable: .failure(.signer(.unusable(text)))
            case .outage: .failure(.signer(.outage(text)))
            case .busy: .failure(.signer(.busy(text)))
            }
        return (result, SignerProtocol.number(frame.prefix(4)))
    }

    private func lose(_ failure: SignerDefect) {
        state.withLock { state in (state.socket, state.failure, state.outgoing) = (nil, failure, []) }
        calls.giveAll(.failure(.signer(failure)))
    }
}
