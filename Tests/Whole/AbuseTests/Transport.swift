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
        _ message: Attack.Message, _ inHTTP2: Attack.InHTTP2, on fixture: Fixture, _ comment: Comment
    ) async throws -> HTTPAnswer? {
        switch self {
        case .clear, .tls:
            let connection = try await HTTPConnection.open(
                port: self == .clear ? fixture.running.publicPort : fixture.tunnel.port)
            try await connection.send(message.octets)
            let isHead = message.octets.starts(with: Array("HEAD ".utf8))
            guard let answer = try await connection.receive(hasNoBody: isHead) else {
                throw HTTPFailure.cutOff
            }
            return answer
        case .http2:
            let request = try #require(message.request, comment)
            return try await send(request, inHTTP2, on: fixture, comment)
        }
    }

    private func send(
        _ request: HTTPRequest, _ inHTTP2: Attack.InHTTP2, on fixture: Fixture, _ comment: Comment
    ) async throws -> HTTPAnswer? {
        let malformed = try fixture.malformedMessages()
        let connection = try await HTTP2Connection.open(port: fixture.tunnelOfFrames.port)
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
            guard case .answer(let answer) = next, answer.status == 400 else {
                Issue.record("\(comment): the stream behind it was not answered")
                return nil
            }
        case (.goAway, .goAway): break
        default: Issue.record("\(comment): \(end)")
        }
        return nil
    }
}

extension Fixture {
    /// Requests over TLS so far that broke the rules of HTTP.
    fileprivate func malformedMessages() throws -> Int {
        try secured.logText().split(separator: "\n").count { $0.contains(#""reason":"http_malformed""#) }
    }
}
