import BrokerHarness
import Glibc

/// One keep-alive connection that never blocks, with room for one request and one answer.
final class Connection {
    private static let capacity = 16_384

    let descriptor: Int32
    private let outgoing = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private let incoming = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * capacity, alignment: 16)
    private var unsent = 0..<0
    private var received = 0
    /// When its request began, in nanoseconds of the monotonic clock; `nil` while it has none.
    private(set) var began: Int64?

    init(port: UInt16) throws { descriptor = try LoopbackSocket.connect(to: port, patience: 10, isNonBlocking: true) }

    deinit {
        close(descriptor)
        outgoing.deallocate()
        incoming.deallocate()
    }

    var wantsToSend: Bool { !unsent.isEmpty }

    /// Sends what `write` puts into the buffer: as many octets as it says. False if it says `nil`.
    func begin(at now: Int64, _ write: (UnsafeMutableRawBufferPointer) -> Int?) throws -> Bool {
        guard let count = write(outgoing) else { return false }
        unsent = 0..<count
        received = 0
        began = now
        try flush()
        return true
    }

    /// Sends what the kernel takes.
    func flush() throws {
        while !unsent.isEmpty {
            let rest = UnsafeRawBufferPointer(rebasing: outgoing[unsent])
            let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { throw HTTPFailure.cutOff }
            unsent = unsent.lowerBound + count..<unsent.upperBound
        }
    }

    /// Reads what is there. Status and body once the answer is complete; the connection is free again then, and the body good
    /// until the next request.
    func receive() throws -> (status: Int, body: UnsafeRawBufferPointer)? {
        let count = recv(descriptor, incoming.baseAddress.map { $0 + received }, incoming.count - received, 0)
        if count < 0, errno == EAGAIN { return nil }
        guard count > 0 else { throw HTTPFailure.cutOff }
        received += count
        let answer = UnsafeRawBufferPointer(rebasing: incoming[..<received])
        guard let head = AnswerHead(answer), received - head.bodyStart >= head.bodyLength else { return nil }
        began = nil
        return (
            head.status, UnsafeRawBufferPointer(rebasing: answer[head.bodyStart..<head.bodyStart + head.bodyLength])
        )
    }

    /// Sends a request and waits for its answer, for so many seconds.
    func answer(to request: [UInt8], within seconds: Int32 = 20) throws -> (status: Int, body: [UInt8]) {
        _ = try begin(at: 0) { buffer in
            buffer.copyBytes(from: request)
            return request.count
        }
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            if let (status, body) = try receive() { return (status, Array(body)) }
            guard poll(&watched, 1, seconds * 1000) > 0 else { throw HTTPFailure.silence }
        }
    }
}
