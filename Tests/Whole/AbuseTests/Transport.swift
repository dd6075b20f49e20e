import BrokerTesting
import BrokerHarness
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

    /// - Returns: `nil` if no answer is the right result: the broker reset the stream, logged it and kept the
    ///   connection, or it ended the connection with GOAWAY.
    func send(
        _ message: Attack.Message, _ inHTTP2: Attack.InHTTP2, to endpoint: Endpoint, on fixture: Fixture,
        _ comment: Comment
    ) async throws -> HTTPAnswer? {
        let port = endpoint.port(of: self, on: fixture)
        switch self {
        case .clear, .tls:
            let connection = try await HTTPConnection.open(port: port)
            try await connection.send(message.octets)
            let isHead = message.octets.starts(with: Array("HEAD ".utf8))
            guard let answer = try await connection.receive(hasNoBody: isHead) else {
                throw HTTPFailure.cutOff
            }
            return answer
        case .http2:
            let request = try #require(message.request, comment)
            return try await send(request, inHTTP2, to: port, on: fixture, comment)
        }
    }

    private func send(
        _ request: HTTPRequest, _ inHTTP2: Attack.InHTTP2, to port: UInt16, on fixture: Fixture, _ comment: Comment
    ) async throws -> HTTPAnswer? {
        let malformed = try fixture.malformedMessages()
        let connection = try await HTTP2Connection.open(port: port)
        let end = try await connection.send(request)
        switch (end, inHTTP2) {
        case (.answer(let answer), .same), (.answer(let answer), .other), (.answer(let answer), .malformed):
            return answer
        case (.reset, .malformed):
            _ = try await eventually("\(comment) is logged") {
                try fixture.malformedMessages() > malformed ? true : nil
            }
            // Behind a proxy the other streams of a connection are other callers'.
            let next = try await connection.send(HTTPRequest.token([("grant_type", "password")]))
            guard case .answer(let answer) = next, [400, 404].contains(answer.status) else {
                Issue.record("\(comment): the stream behind it was not answered")
                return nil
            }
        case (.goAway, .goAway): break
        default: Issue.record("\(comment): \(end)")
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

    /// The backchannel listener is in clear, or over TLS in HTTP/2; one server answers both of its paths.
    var transports: [Transport] {
        switch self {
        case .token: Transport.allCases
        case .revoke: [.clear, .http2]
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

    fileprivate func port(of transport: Transport, on fixture: Fixture) -> UInt16 {
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

extension Fixture {
    /// Requests over TLS so far that broke the rules of HTTP.
    fileprivate func malformedMessages() throws -> Int {
        try secured.logLines(with: #""reason":"http_malformed""#).count
    }
}
