import Glibc
import BrokerHarness
import Testing

extension Faults {
    struct ProcessFaultTests {
        /// a killed broker loses nothing that an app was told, and revives no spent token.
        @Test func aBrokerThatIsKilledBetweenTwoRefreshes() async throws {
            let fixture = try await FaultFixture.shared
            let sql = try fixture.installation.session()
            let broker = try await fixture.installation.startBroker("killed").ready()
            let family = try await fixture.logins.family(at: broker)
            let first = try await broker.token(fixture.logins.refresh(family.refreshToken))
            let successor = try #require(first.refreshToken)

            broker.process.signal(SIGKILL)
            #expect(await broker.process.exitStatus == 128 + SIGKILL)
            try broker.restart()
            try await broker.untilReady()

            let second = try await broker.token(fixture.logins.refresh(successor))
            #expect(second.status == 200, "\(second.text)")
            #expect(try await fixture.state(of: family, sql) == "3|f")
            // And what was spent before the end is still known to be spent.
            let replayed = try await broker.token(fixture.logins.refresh(family.refreshToken))
            #expect(replayed.error == "invalid_grant")
            #expect(try await fixture.state(of: family, sql) == "3|t")
            await broker.process.terminate()
        }

        /// SIGTERM: no new work, and every request that was begun is answered.
        @Test func aBrokerThatStopsWhileItWorks() async throws {
            let fixture = try await FaultFixture.shared
            let broker = try await fixture.installation.startBroker("stopped").ready()
            let refused = HTTPRequest.token([("grant_type", "password")]).octets
            var begun: [(HTTPConnection, rest: ArraySlice<UInt8>)] = []
            for _ in 0..<4 {
                let family = try await fixture.logins.family(at: broker)
                let request = HTTPRequest.token(fixture.logins.refresh(family.refreshToken).parameters).octets
                let connection = try await HTTPConnection.open(port: broker.publicPort)
                // Half of the request comes with one that is answered: by then the broker has both.
                try await connection.send(refused + request.prefix(request.count / 2))
                #expect(try await connection.receive()?.status == 400)
                begun.append((connection, request.dropFirst(request.count / 2)))
            }
            broker.process.signal(SIGTERM)
            _ = try await eventually("nobody new is let in") { await broker.acceptsConnections() ? nil : true }
            for (connection, rest) in begun { try await connection.send(rest) }
            for (connection, _) in begun {
                let answer = try #require(try await connection.receive())
                #expect(answer.status == 200 || answer.isOutage, "\(answer.status) \(answer.text)")
                #expect(answer["Connection"] == "close")
            }
            #expect(await broker.process.exitStatus == 0)
        }
    }
}

extension Broker {
    fileprivate func acceptsConnections() async -> Bool {
        (try? await HTTPConnection.open(port: publicPort)) != nil
    }
}
