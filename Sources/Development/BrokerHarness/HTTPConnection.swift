import ChildProcesses
import Glibc
import Synchronization

/// A TCP connection to a loopback port that sends exactly the octets it is given.
///
/// No HTTP library would send what a broken or hostile caller sends.
package final class HTTPConnection: Sendable {
    private let descriptor: Int32
    private let reader = Mutex(AnswerReader())

    /// Longer than any answer may take on a busy machine.
    private static let patience: Int = 30

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    package static func open(port: UInt16) async throws -> HTTPConnection {
        HTTPConnection(descriptor: try await onOwnThread { try LoopbackSocket.connect(to: port, patience: patience) })
    }

    package func send(_ octets: some Collection<UInt8> & Sendable) async throws {
        let descriptor = descriptor
        let octets = Array(octets)
        try await onOwnThread {
            var rest = octets[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                // A server that has seen enough may close before it has read everything; its answer counts.
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// The next answer; `nil` if the server closed the connection before one began.
    /// - Parameters:
    ///   - hasNoBody: Whether it answers a HEAD request.
    ///   - acceptsHTTP10: Whether it may be one of HTTP/1.0.
    package func receive(hasNoBody: Bool = false, acceptsHTTP10: Bool = false) async throws -> HTTPAnswer? {
        try await onOwnThread { [self] in
            func next(isEnd: Bool, _ reader: inout AnswerReader) throws(HTTPFailure) -> HTTPAnswer? {
                try reader.next(hasNoBody: hasNoBody, isEnd: isEnd, acceptsHTTP10: acceptsHTTP10)
            }
            if let answer = try reader.withLock({ try next(isEnd: false, &$0) }) { return answer }
            var portion = [UInt8](repeating: 0, count: 65_536)
            // Limits a peer that sends an octet now and then.
            let deadline = ContinuousClock.now + .seconds(2 * Self.patience)
            while true {
                guard ContinuousClock.now < deadline else { throw HTTPFailure.silence }
                let count = recv(descriptor, &portion, portion.count, 0)
                guard count >= 0 || errno == ECONNRESET else { throw HTTPFailure.silence }
                let answer = try reader.withLock { reader in
                    reader.append(portion.prefix(max(count, 0)))
                    return try next(isEnd: count <= 0, &reader)
                }
                if let answer { return answer }
                if count <= 0 {
                    guard reader.withLock({ $0.isEmpty }) else { throw HTTPFailure.cutOff }
                    return nil
                }
            }
        }
    }

    /// Some of what the server has sent, as it is; `nil` at its end.
    package func octets() async throws -> [UInt8]? {
        let descriptor = descriptor
        return try await onOwnThread {
            var portion = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &portion, portion.count, 0)
            guard count >= 0 || errno == ECONNRESET else { throw HTTPFailure.silence }
            return count > 0 ? Array(portion[..<count]) : nil
        }
    }

    /// Shuts down both directions and ends a waiting ``send(_:)``. The descriptor stays open while it is in use.
    package func abort() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Tells the server that nothing more will be sent.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }
}
