package import BrokerTesting
import Foundation
import Glibc
import StrictCoding
import Synchronization

/// An identity provider with a discovery document and a JWKS only. It misbehaves as a test asks.
package final class StubIdentityProvider: Sendable {
    /// What it does with a request for its JWKS (or for its discovery document).
    package enum Behaviour: Sendable {
        case answers
        /// Takes the connection and never says a word.
        case hangs
        case status(Int)
        /// 200 with this body.
        case says([UInt8])
        case redirects(to: String)
    }

    private struct State {
        let keys: [UInt8]
        var discovery: Behaviour = .answers
        var jwks: Behaviour = .answers
        var fetches = 0
        var requests = 0
        var token: @Sendable (CodeCall) -> CodeReply = { _ in .hangs }
        var calls: [CodeCall] = []
        var revocations: [CodeCall] = []
        var revocation: @Sendable (CodeCall) -> CodeReply = { _ in .answers(200, "") }
    }

    package let port: UInt16
    package let issuer: String
    private let listener: LoopbackListener
    private let state: Mutex<State>

    /// - Parameter port: 0: any that is free.
    package init(keys: [TestKey], port: UInt16 = 0) throws {
        listener = try LoopbackListener(port: port)
        self.port = listener.port
        issuer = "http://127.0.0.1:\(self.port)"
        state = Mutex(State(keys: try TestKey.document(keys)))
        Thread.detachNewThread { [weak self, listener] in
            listener.serve { [weak self] peer in self?.serve(peer) }
        }
    }

    deinit { stop() }

    /// Ends it: connections are refused from now on.
    package func stop() { listener.stop() }

    package func jwks(_ behaviour: Behaviour) { state.withLock { $0.jwks = behaviour } }

    package func discovery(_ behaviour: Behaviour) { state.withLock { $0.discovery = behaviour } }

    /// What its token endpoint does with a code.
    package func token(_ reply: @escaping @Sendable (CodeCall) -> CodeReply) { state.withLock { $0.token = reply } }

    /// Every request that its token endpoint got, complete.
    package var codeCalls: [CodeCall] { state.withLock { $0.calls } }

    /// What its revocation endpoint does with a token.
    package func revocation(_ reply: @escaping @Sendable (CodeCall) -> CodeReply) {
        state.withLock { $0.revocation = reply }
    }

    /// Every request that its revocation endpoint got.
    package var revocations: [CodeCall] { state.withLock { $0.revocations } }

    /// How often its JWKS was asked for.
    package var jwksRequests: Int { state.withLock { $0.fetches } }

    /// How often it was asked for anything.
    package var requests: Int { state.withLock { $0.requests } }

    private func serve(_ peer: Int32) {
        guard let (path, call) = Self.request(peer) else { return }
        if path == "/token" || path == "/revoke" {
            let reply = state.withLock { state in
                if path == "/token" { state.calls.append(call) } else { state.revocations.append(call) }
                return path == "/token" ? state.token : state.revocation
            }
            return reply(call).write(to: peer)
        }
        let isJWKS = path == "/jwks"
        let (behaviour, document) = state.withLock { state in
            state.requests += 1
            if isJWKS { state.fetches += 1 }
            return isJWKS ? (state.jwks, state.keys) : (state.discovery, discoveryDocument)
        }
        switch behaviour {
        case .answers: Self.write(peer, status: 200, body: document)
        case .says(let body): Self.write(peer, status: 200, body: body)
        case .status(let status): Self.write(peer, status: status, body: [])
        case .redirects(let target): Self.write(peer, status: 302, body: [], fields: "Location: \(target)\r\n")
        case .hangs:
            Self.wait(for: peer)
        }
    }

    /// Until the caller has had enough.
    static func wait(for peer: Int32) {
        var octet: UInt8 = 0
        while recv(peer, &octet, 1, 0) > 0 {}
    }

    private var discoveryDocument: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("issuer", issuer)
            json.member("authorization_endpoint", issuer + "/authorize")
            json.member("token_endpoint", issuer + "/token")
            json.member("revocation_endpoint", issuer + "/revoke")
            json.member("jwks_uri", issuer + "/jwks")
            json.member("response_types_supported", ["code"])
            json.member("subject_types_supported", ["public"])
            json.member("id_token_signing_alg_values_supported", ["ES256", "RS256"])
        }
        return json.bytes
    }

    private static func request(_ peer: Int32) -> (path: String, call: CodeCall)? {
        var received: [UInt8] = []
        var portion = [UInt8](repeating: 0, count: 4096)
        func read() -> Bool {
            let count = recv(peer, &portion, portion.count, 0)
            guard count > 0, received.count < 131_072 else { return false }
            received += portion[..<count]
            return true
        }
        while received.firstRange(of: Array("\r\n\r\n".utf8)) == nil { guard read() else { return nil } }
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let call = CodeCall(head: String(decoding: received[..<end.lowerBound], as: UTF8.self), body: "")
        let length = call.field("content-length").flatMap { Int($0) } ?? 0
        while received.count < end.upperBound + length { guard read() else { return nil } }
        let path = received.split(separator: UInt8(ascii: " "), maxSplits: 2).dropFirst().first ?? []
        return (
            String(decoding: path, as: UTF8.self),
            CodeCall(head: call.head, body: String(decoding: received[end.upperBound...], as: UTF8.self))
        )
    }

    static func write(
        _ peer: Int32, status: Int, body: [UInt8], type: String = "application/json", fields: String = ""
    ) {
        let head =
            "HTTP/1.1 \(status) Stub\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\n"
            + "Connection: close\r\n\(fields)\r\n"
        write(peer, Array(head.utf8) + body)
    }

    static func write(_ peer: Int32, _ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// A listening socket that one thread serves and any other may stop, any number of times.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let descriptor: Int32
    /// Until then the descriptor is ours; afterwards its number may be another's.
    private let isOpen = Mutex(true)

    /// - Parameter port: 0: any that is free.
    init(port: UInt16) throws { (descriptor, self.port) = try LoopbackSocket.listen(port: port) }

    /// Gives each connection to `body`, on its own thread, until it is stopped; then closes the socket. Called once.
    /// The accepting code also closes the socket, so that it never accepts on a reused descriptor.
    func serve(_ body: @escaping @Sendable (_ peer: Int32) -> Void) {
        while case let peer = accept(descriptor, nil, nil), peer >= 0 {
            Thread.detachNewThread {
                body(peer)
                close(peer)
            }
        }
        isOpen.withLock { isOpen in
            close(descriptor)
            isOpen = false
        }
    }

    /// Connections are refused from now on.
    func stop() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }
}
