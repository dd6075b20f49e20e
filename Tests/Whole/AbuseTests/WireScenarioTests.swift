import BrokerHarness
import Testing

extension Abuse {
    /// Connections over more than one request.
    struct WireScenarioTests {
        /// H-09: what follows a request that could end in two places is never looked at.
        @Test(arguments: [0, 1]) func aSmuggledRequest(_ port: Int) async throws {
            let fixture = try await Fixture.shared
            var first = HTTPRequest.token(try fixture.exchange().parameters)
            first.fields.append(("Transfer-Encoding", "chunked"))
            let second = HTTPRequest.token(try fixture.exchange().parameters)
            let before = try await fixture.digest()
            let connection = try await HTTPConnection.open(port: fixture.ports[port])
            try await connection.send(first.octets + second.octets)
            #expect(try await connection.receive()?.status == 400)
            #expect(try await connection.receive() == nil)
            #expect(try await fixture.digest() == before)
        }

        /// H-29: a bad form is answered in its turn, and the next request of the connection as well.
        @Test(arguments: [0, 1]) func requestsOnOneConnection(_ port: Int) async throws {
            let fixture = try await Fixture.shared
            let good = HTTPRequest.token(try fixture.exchange().parameters).octets
            let bad = HTTPRequest.token([("grant_type", "password")]).octets
            let connection = try await HTTPConnection.open(port: fixture.ports[port])
            try await connection.send(bad + good + bad)
            var answers: [HTTPAnswer] = []
            for _ in 0..<3 { answers.append(try #require(try await connection.receive())) }
            #expect(answers.map(\.status) == [400, 200, 400])
            #expect(Set(answers.map { $0["X-Request-Id"] }).count == 3)
        }

        /// H-21: a client that does not read blocks only itself.
        @Test func aClientThatDoesNotRead() async throws {
            let fixture = try await Fixture.shared
            // A broker of its own: what it writes about the flood would be in the way of the others.
            let broker = try await fixture.installation.startBroker("flooded").ready()
            let deaf = try await HTTPConnection.open(port: broker.publicPort)
            let request = HTTPRequest.token([("grant_type", "password")]).octets
            let flood = Task {
                try await deaf.send(Array(repeatElement(request, count: 20_000).joined()))
            }
            for _ in 0..<20 { #expect(try await broker.settledToken(try fixture.exchange()).status == 200) }
            deaf.abort()
            try await flood.value
            #expect(try await broker.readiness() == 200)
            #expect(await broker.process.terminate() == 0)
        }
    }
}

/// H-20: clients that send too slowly.
@Suite(.timeLimit(.minutes(5))) struct SlowRequestTests {
    /// All at once: each waits for a deadline.
    @Test func isGivenUp() async throws {
        let fixture = try await Fixture.shared
        let request = HTTPRequest.token([("grant_type", "password")]).octets
        try await withThrowingTaskGroup { group in
            for port in fixture.ports {
                for (part, missing) in [("a body", 1), ("a header", 60)] {
                    group.addTask {
                        let connection = try await HTTPConnection.open(port: port)
                        try await connection.send(request.dropLast(missing))
                        let answer = try #require(try await connection.receive(), "\(part)")
                        #expect(
                            answer.status == 408 && answer.error == "invalid_request" && answer.keepsContract,
                            "\(part): \(answer.text)")
                        #expect(try await connection.receive() == nil, "\(part)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
