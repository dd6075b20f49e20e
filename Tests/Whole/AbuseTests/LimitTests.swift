import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

extension Abuse {
    /// Floods at a broker with low limits, behind a proxy that names the sender's address.
    struct LimitTests {
        private static let limits = [
            "address": "40/1h", "client_failures": "10/1h", "session": "20/1h", "user": "30/1h", "device": "30/1h",
            "device_failures": "10/1h",
        ]

        /// C-17: hundreds of wrong secrets for one client from ten addresses, while the client goes on elsewhere.
        @Test func manySecrets() async throws {
            try await withBroker { fixture, broker in
                let wrong = try fixture.exchange().withSecret("wrong", of: Fixture.confidential)
                var statuses: [Int: Int] = [:]
                var limited: HTTPAnswer?
                for guess in 0..<200 {
                    let answer = try await wrong.send(to: broker, from: "198.51.100.\(guess % 10)")
                    statuses[answer.status, default: 0] += 1
                    if answer.status == 429 { limited = answer }
                }
                #expect(statuses == [401: 100, 429: 100])
                try await expectLimited(limited, "rate_limited_client_failures", fixture)
                let right = try fixture.exchange().withSecret(fixture.secret, of: Fixture.confidential)
                #expect(try await right.send(to: broker, from: "192.0.2.1").status == 200)
                // Only failed authentication is limited there.
                #expect(try await right.send(to: broker, from: "198.51.100.7").status == 200)
                #expect(try await fixture.exchange().send(to: broker, from: "198.51.100.7").status == 200)
            }
        }

        /// C-18: all spellings of an address share one limit, and so does an IPv6 /64.
        @Test func manyAddresses() async throws {
            try await withBroker { fixture, broker in
                for index in 0..<40 {
                    let noise = HTTPRequest(
                        "POST", "/nowhere", fields: [("X-Forwarded-For", "2001:db8:0:7:\(index)::1")])
                    #expect(try await noise.send(to: broker.publicPort).status == 404)
                }
                for address in ["2001:db8:0:7::ffff", "2001:0DB8:0000:0007:0:0:0:1"] {
                    let answer = try await fixture.exchange().send(to: broker, from: address)
                    try await expectLimited(answer, "rate_limited_address", fixture)
                }
                for address in ["2001:db8:0:8::1", "192.0.2.1"] {
                    #expect(try await fixture.exchange().send(to: broker, from: address).status == 200)
                }
            }
        }

        /// H-27: addresses that a client writes before the proxy's own entry do not change its limit.
        @Test func spoofedAddresses() async throws {
            try await withBroker { fixture, broker in
                var answer: HTTPAnswer?
                for index in 0...40 {
                    answer = try await fixture.exchange().send(to: broker, from: "192.0.2.\(index), 203.0.113.9")
                }
                try await expectLimited(answer, "rate_limited_address", fixture)
            }
        }

        /// V-04: one user or one device creates ever more sessions.
        @Test func manySessions() async throws {
            try await withBroker { fixture, broker in
                let device = Unguessable.make()
                try await expectLimited("rate_limited_device", at: broker, fixture) {
                    fixture.logins.login(device: device)
                }
                try await expectLimited("rate_limited_user", at: broker, fixture) {
                    var login = fixture.logins.login()
                    login.token.claims["sub"] = .string("one-user-of-many-sessions")
                    return login
                }
                let rows = try await fixture.sql.row(
                    "SELECT count(*) FROM native_sso.session WHERE subject = 'one-user-of-many-sessions'")
                #expect(rows == "30")
                #expect(try await broker.token(try fixture.exchange()).status == 200)
            }
        }

        /// D-15, TM-41: wrong guesses at an id_token's device value are soon limited. The real device still succeeds.
        @Test func guessedDevices() async throws {
            try await withBroker { fixture, broker in
                let login = fixture.logins.login()
                var answers: [HTTPAnswer] = []
                for _ in 0..<30 {
                    let guess = Login(token: login.token, device: Unguessable.make())
                    answers.append(try await broker.token(try fixture.logins.exchange(guess)))
                }
                #expect(answers.count { $0.text == AnswerContract.unusableBody } == 10)
                #expect(answers.count { $0.status == 429 } == 20)
                try await expectLimited(answers.last, "rate_limited_device_failures", fixture)
                for _ in 0..<20 {
                    #expect(try await broker.token(try fixture.logins.exchange(login)).status == 200)
                }
                try await expectLimited(
                    try await broker.token(try fixture.logins.exchange(login)), "rate_limited_session", fixture)
            }
        }

        /// a revoked token comes a hundred times. The registry stays unchanged.
        /// After 20 refusals the answer is 429, without a database query.
        @Test func aDeadFamily() async throws {
            try await withBroker { fixture, broker in
                let family = try await fixture.family()
                try await fixture.revoke(family)
                let before = try await fixture.digest()
                let events = try await auditEvents(fixture)
                var answers: [HTTPAnswer] = []
                for _ in 0..<100 {
                    answers.append(try await broker.token(.refresh(family.refreshToken, client: Fixture.target)))
                }
                #expect(answers.prefix(20).allSatisfy { $0.text == AnswerContract.unusableBody })
                #expect(answers.dropFirst(20).allSatisfy { $0.status == 429 })
                #expect(try await fixture.digest() == before)
                #expect(try await auditEvents(fixture) - events < 40)
                #expect(try await broker.token(try fixture.logins.exchange(family.login)).status == 200)
            }
        }

        /// M-06: filling the internal listener takes no capacity from the public one.
        @Test func theInternalListenerIsFull() async throws {
            let fixture = try await Fixture.shared
            var held: [HTTPConnection] = []
            for _ in 0..<600 { held.append(try await HTTPConnection.open(port: fixture.running.internalPort)) }
            let start = ContinuousClock.now
            for _ in 0..<20 { #expect(try await fixture.running.token(try fixture.exchange()).status == 200) }
            #expect(ContinuousClock.now - start < .seconds(10))
            for connection in held { connection.abort() }
            held = []
            // The listener answers again once the broker sees the connections close.
            _ = try await eventually("the internal listener answers") {
                (try? await HTTPRequest("GET", "/livez").send(to: fixture.running.internalPort))?.status == 200
                    ? true : nil
            }
        }

        // MARK: Test server

        private static let starting = Task { () -> Broker in
            let fixture = try await Fixture.shared
            let broker = try fixture.installation.startBroker("limited") {
                $0.limits = Self.limits
                $0.trustedProxies = ["127.0.0.1"]
            }
            return try await broker.ready()
        }

        /// One broker for all: each test has its own addresses, logins and devices.
        private func withBroker(_ body: (Fixture, Broker) async throws -> Void) async throws {
            try await body(try await Fixture.shared, try await Self.starting.value)
        }

        /// The broker takes 30 of these logins.
        private func expectLimited(
            _ reason: String, at broker: Broker, _ fixture: Fixture, _ login: () -> Login
        ) async throws {
            var answers: [HTTPAnswer] = []
            for _ in 0..<40 { answers.append(try await broker.token(try fixture.logins.exchange(login()))) }
            #expect(answers.prefix(30).allSatisfy { $0.status == 200 })
            try await expectLimited(answers.last, reason, fixture)
        }

        private func expectLimited(_ answer: HTTPAnswer?, _ reason: String, _ fixture: Fixture) async throws {
            let answer = try #require(answer)
            #expect(answer.status == 429 && answer.error == "temporarily_unavailable", "\(answer.text)")
            let wait = try #require(Int(answer["Retry-After"] ?? ""))
            #expect((1...3600).contains(wait) && answer.keepsContract)
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
        }

        private func auditEvents(_ fixture: Fixture) async throws -> Int {
            Int(try await fixture.sql.row("SELECT count(*) FROM native_sso.audit_event")) ?? 0
        }
    }
}

extension HTTPRequest {
    /// Sends the request as a proxy on behalf of this address.
    func send(to broker: Broker, from address: String) async throws -> HTTPAnswer {
        var request = self
        request.fields.append(("X-Forwarded-For", address))
        return try await request.send(to: broker.publicPort)
    }
}

extension TokenForm {
    func send(to broker: Broker, from address: String) async throws -> HTTPAnswer {
        try await HTTPRequest.token(parameters).send(to: broker, from: address)
    }
}
