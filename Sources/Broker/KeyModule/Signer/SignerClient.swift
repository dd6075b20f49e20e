import Dispatch
import NativeSSO
import Synchronization

/// A broker's connection to the signer. Many calls are in flight at once; what waits together goes out in one write.
///
/// Without a connection it refuses all calls at once, so that nothing is written for a token that cannot be signed. It connects
/// again after 0.1 s, then at growing distances of at most 2 s.
package final class SignerClient: Sendable {
    private struct Call {
        let answer: CheckedContinuation<Result<[UInt8], SignerDefect>, Never>
        let deadline: ContinuousClock.Instant
    }

    private struct State {
        var calls: [UInt32: Call] = [:]
        var next: UInt32 = 0
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
    private let state = Mutex(State())
    private let reading = DispatchQueue(label: "signer answers")
    private let writing = DispatchQueue(label: "signer requests")

    private static let mostCalls = 8192
    private static let greetingSeconds = 2
    private static let look: DispatchTimeInterval = .milliseconds(200)

    /// Connects in the background.
    package init(socket path: String, deadline: Duration = .seconds(3)) {
        self.path = path
        self.deadline = deadline
        reading.async { [weak self] in Self.connect(self, pauseMilliseconds: 100) }
        lookAtDeadlines()
    }

    /// Why calls are refused now; `nil`: the connection stands, or is being made for the first time.
    var failure: SignerDefect? { state.withLock { $0.failure } }

    /// The result of one call. Throws within the deadline.
    func call(_ operation: SignerProtocol.Operation, key: [UInt8], message: [UInt8]) async throws(KeyError) -> [UInt8] {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<[UInt8], SignerDefect>, Never>) in
            let call = Call(answer: continuation, deadline: .now + deadline)
            let (refusal, mustWrite) = state.withLock { state -> (SignerDefect?, Bool) in
                if let failure = state.failure { return (failure, false) }
                guard state.calls.count < Self.mostCalls else {
                    return (.busy("\(Self.mostCalls) calls wait"), false)
                }
                repeat { state.next &+= 1 } while state.calls[state.next] != nil
                state.calls[state.next] = call
                SignerRequest.append(state.next, operation, key: key, message: message, to: &state.outgoing)
                defer { if state.socket != nil { state.isWriting = true } }
                return (nil, state.socket != nil && !state.isWriting)
            }
            if let refusal { return continuation.resume(returning: .failure(refusal)) }
            if mustWrite { writing.async { [self] in write() } }
        }
        do throws(SignerDefect) { return try result.get() } catch { throw .signer(error) }
    }

    private func write() {
        while true {
            let next = state.withLock { state -> (SignerSocket, [UInt8])? in
                guard let socket = state.socket, !state.outgoing.isEmpty else {
                    state.isWriting = false
                    return nil
                }
                let octets = state.outgoing
                state.outgoing = []
                return (socket, octets)
            }
            guard let (socket, octets) = next else { return }
            if !socket.write(octets) { socket.end() }
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
                while let frame = try frames.next() { try take(frame) }
            } while unsafe socket.read(
                into: &frames, buffer)
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
            state.isWriting = !state.outgoing.isEmpty
            return state.isWriting
        }
        if mustWrite { writing.async { [self] in write() } }
    }

    private func take(_ frame: ArraySlice<UInt8>) throws(SignerDefect) {
        guard frame.count >= 5, let status = SignerProtocol.Status(rawValue: frame[frame.startIndex + 4]) else {
            throw .nonsense("a frame that is not an answer")
        }
        let call = state.withLock { state in
            state.heard = .now
            return state.calls.removeValue(forKey: SignerProtocol.number(frame.prefix(4)))
        }
        // After its deadline nobody waits for an answer.
        guard let call else { return }
        let octets = Array(frame.dropFirst(5))
        let text = String(decoding: octets.prefix(1024), as: UTF8.self)
        let result: Result<[UInt8], SignerDefect> =
            switch status {
            case .done: .success(octets)
            case .refused: .failure(.refused(text))
            case .unusable: .failure(.unusable(text))
            case .outage: .failure(.outage(text))
            case .busy: .failure(.busy(text))
            }
        call.answer.resume(returning: result)
    }

    private func lose(_ failure: SignerDefect) {
        let calls = state.withLock { state in
            defer { (state.calls, state.outgoing) = ([:], []) }
            (state.socket, state.failure) = (nil, failure)
            return Array(state.calls.values)
        }
        for call in calls { call.answer.resume(returning: .failure(failure)) }
    }

    /// A signer that gives no answer at all loses its connection, so that the next calls are refused at once.
    private func lookAtDeadlines() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.look) { [weak self] in
            guard let self else { return }
            let now = ContinuousClock.now
            let (late, silent) = state.withLock { state -> ([Call], SignerSocket?) in
                let late = state.calls.filter { $0.value.deadline <= now }
                for number in late.keys { state.calls[number] = nil }
                return (Array(late.values), !late.isEmpty && state.heard + deadline <= now ? state.socket : nil)
            }
            for call in late { call.answer.resume(returning: .failure(.noAnswer)) }
            silent?.end()
            lookAtDeadlines()
        }
    }
}
