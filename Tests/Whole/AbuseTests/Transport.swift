import BrokerHarness
import BrokerTesting
import Testing

/// A way into a broker.
enum Transport: CaseIterable {
    case clear
    case tls
    case http2

    func admits(_ variant: Attack.Variant) -> Bool {
        if self == .http2, case .unsayable = variant.inHTTP2 { false } else { true }
    }

    func verdict(of variant: Attack.Variant) -> Verdict {
        guard self == .http2 else { return variant.verdict }
        return switch variant.inHTTP2 {
        case .same, .unsayable: variant.verdict
        case .other(let verdict): verdict
        case .malformed, .goAway: .malformed("http_malformed")
        }
    }
}

/// A variant of an attack over one transport.
struct Attempt: Sendable {
    let name: String
    let transport: Transport
    let verdict: Verdict
    let message: Attack.Message
    private let inHTTP2: Attack.InHTTP2

    init(_ attack: Attack, _ variant: Attack.Variant, _ transport: Transport, _ message: Attack.Message) {
        name = "\(attack.id) \(variant.name), \(transport)"
        self.transport = transport
        verdict = transport.verdict(of: variant)
        self.message = message
        inHTTP2 = variant.inHTTP2
    }

    var comment: Comment { "\(name)" }

    var isHead: Bool { message.octets.starts(with: Array("HEAD ".utf8)) }

    /// Whether the broker may reset the stream.
    var isMalformedInHTTP2: Bool {
        if transport == .http2, case .malformed = inHTTP2 { true } else { false }
    }

    /// - Returns: `nil` if no answer is the right result: the broker reset the stream and kept the connection, or it ended
    ///   the connection with GOAWAY.
    func send(to port: UInt16) async throws -> HTTPAnswer? {
        guard transport == .http2 else {
            let connection = try await HTTPConnection.open(port: port)
            try await connection.send(message.octets)
            guard let answer = try await connection.receive(hasNoBody: isHead) else { throw HTTPFailure.cutOff }
            return answer
        }
        let connection = try await HTTP2Connection.open(port: port)
        let end = try await connection.send(try #require(message.request, comment))
        switch (end, inHTTP2) {
        case (.answer(let answer), .same), (.answer(let answer), .other), (.answer(let answer), .malformed):
            return answer
        case (.reset, .malformed):
            // Behind a proxy the other streams of a connection are other callers'.
            let next = try await connection.send(HTTPRequest.token([("grant_type", "password")]))
            guard case .answer(let answer) = next, [400, 404].contains(answer.status) else {
                Issue.record("\(name): the stream behind it was not answered")
                return nil
            }
        case (.goAway, .goAway): break
        default: Issue.record("\(name): \(end)")
        }
        return nil
    }
}

/// What takes requests. Attacks on message, form and client are the same for each that takes a form; the last two take
/// tokens, and have the attacks on the message in common.
enum Endpoint: String, CaseIterable {
    case token
    case revoke
    case introspect
    case securityEvents = "security-events"
    case globalTokenRevocation = "global-token-revocation"

    /// TLS changes nothing above the octets of HTTP. One server answers all paths of the backchannel listener, which is
    /// in clear, or over TLS in HTTP/2.
    func transports(of attack: Attack) -> [Transport] {
        let isOfHTTP = attack.id.hasPrefix("H")
        return switch self {
        case .token: isOfHTTP ? Transport.allCases : [.clear, .http2]
        case .revoke: isOfHTTP ? [.clear, .http2] : [.clear]
        case .introspect, .securityEvents, .globalTokenRevocation: [.clear]
        }
    }

    /// The body of the answer to a good form; `nil` where it depends on the request. RFC 7009 §2.2, RFC 7662 §2.2.
    var answer: String? {
        switch self {
        case .token, .securityEvents, .globalTokenRevocation: nil
        case .revoke: "{}"
        case .introspect: #"{"active":false}"#
        }
    }

    func port(of transport: Transport, on fixture: Fixture) -> UInt16 {
        switch (transport, self) {
        case (.clear, .token): fixture.running.publicPort
        case (.tls, .token): fixture.tunnel.port
        case (.http2, .token): fixture.tunnelOfFrames.port
        case (.http2, _): fixture.backchannel.frames.port
        case (_, _): fixture.backchannel.port
        }
    }

    /// The same message for this endpoint.
    func message(_ message: Attack.Message) -> Attack.Message {
        func here(_ request: HTTPRequest) -> HTTPRequest {
            var request = request
            request.target = request.target.replacing("/token", with: "/\(rawValue)")
            return request
        }
        return switch message {
        case .request(let request): .request(here(request))
        case .octets(let octets, let twin):
            .octets(octets.replacing(Array("/token".utf8), with: Array("/\(rawValue)".utf8)), twin: twin.map(here))
        }
    }
}
