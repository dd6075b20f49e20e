import Foundation
import Glibc

/// A request to the token endpoint of an identity provider, as it came.
package struct CodeCall: Sendable {
    package let head: String
    package let body: String

    /// A header field.
    package func field(_ name: String) -> String? {
        for line in head.split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == name.lowercased() {
                return String(parts[1].drop { $0 == " " })
            }
        }
        return nil
    }

    /// A parameter of the form, not decoded.
    package func parameter(_ name: String) -> String? {
        for pair in body.split(separator: "&") where pair.hasPrefix("\(name)=") {
            return String(pair.dropFirst(name.utf8.count + 1))
        }
        return nil
    }
}

/// What a token endpoint does with a code.
package enum CodeReply: Sendable {
    case answers(_ status: Int = 200, _ body: String, type: String = "application/json", fields: String = "")
    /// Takes the request and never says a word.
    case hangs
    /// Says half of an answer and closes.
    case breaksOff
    /// Closes at once.
    case closes
    /// Waits until the gate is open, and then answers.
    case waits(StubGate, _ body: String)

    func write(to peer: Int32) {
        switch self {
        case .answers(let status, let body, let type, let fields):
            StubIdentityProvider.write(peer, status: status, body: Array(body.utf8), type: type, fields: fields)
        case .hangs: StubIdentityProvider.wait(for: peer)
        case .breaksOff:
            StubIdentityProvider.write(
                peer, Array("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{".utf8))
        case .closes: break
        case .waits(let gate, let body):
            gate.wait()
            StubIdentityProvider.write(peer, status: 200, body: Array(body.utf8))
        }
    }
}

/// Holds threads of a stub until a test lets them go on.
package final class StubGate: Sendable {
    private let condition = NSCondition()
    nonisolated(unsafe) private var isOpen = false  // only under the condition's lock

    package init() {}

    package func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    func wait() {
        condition.lock()
        while !isOpen { condition.wait() }
        condition.unlock()
    }
}
