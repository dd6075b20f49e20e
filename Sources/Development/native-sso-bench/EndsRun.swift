import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import TokenVerifier

/// What ends a session.
enum EndingCause: String, CaseIterable, Sendable {
    case logoutToken = "logout token"
    case deviceSignOut = "/revoke with device_id"
    case globalTokenRevocation = "/global-token-revocation"
    case securityEvent = "security event session-revoked"
    case command = "session end"
    case support = "support_end_sessions"
}

/// A session ends at one broker, and it is measured when another broker and a resource server know.
struct EndsRun {
    let installation: MeasuredInstallation
    let options: LoadOptions

    private static let api = "bench-api"

    private struct Fixture: Sendable {
        /// Hears of the end.
        let first: Broker
        let port: UInt16
        /// Is asked meanwhile, by the app and by the resource server.
        let second: Broker
        let logins: LoginFactory
        let verifier: TokenVerifier
        let sql: SQLSession
        let installation: Installation
    }

    func section() async throws -> Section {
        let base = installation.base
        try await base.command(
            "client", "add", Self.api, "--authentication", "client_secret_basic", "--audience", SampleApps.audience,
            "--introspects", SampleApps.audience)
        let secret = try await base.rotateSecret(of: Self.api)
        let (first, second) = (try LoopbackPort.free(), try LoopbackPort.free())
        let figures = try await base.withBroker(environment: Self.backchannel(first), Self.hearEvents) { hearing in
            try await base.withBroker("second", environment: Self.backchannel(second), Self.hearEvents) { asked in
                guard let keys = HTTPKeySetLoader("http://127.0.0.1:\(asked.internalPort)/.well-known/jwks.json") else {
                    throw ManagedProcess.Failure(description: "the address of the key set is refused")
                }
                let verifier = TokenVerifier(
                    issuer: SampleApps.broker, algorithms: [installation.algorithms.broker], loader: keys,
                    endedSessions: EndedSessions())
                let poller = EndedSessionPoller(for: verifier) { body in
                    let fields = [("Content-Type", "application/json"), HTTPRequest.basic(Self.api, secret)]
                    let answer = try await HTTPRequest("POST", "/events", fields: fields, body: body).send(to: second)
                    try answer.expect(200)
                    return answer.body
                }
                let polling = Task { await poller?.run() }
                defer { polling.cancel() }
                return try await measured(
                    Fixture(
                        first: hearing, port: first, second: asked,
                        logins: LoginFactory(
                            issuer: SampleApps.issuer, key: installation.key, source: SampleApps.source,
                            target: SampleApps.targets[0]),
                        verifier: verifier, sql: try base.session(), installation: base))
            }
        }
        return Section(
            "ends",
            facts: [
                ("poll", .string("long polling, every 250 ms")), ("causes", .integer(EndingCause.allCases.count)),
            ], figures: figures)
    }

    private static func backchannel(_ port: UInt16) -> [String: String] {
        [
            "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(port)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
            "NATIVE_SSO_BACKCHANNEL_EVENTS": "true", "NATIVE_SSO_BACKCHANNEL_SECURITY_EVENTS": "true",
            "NATIVE_SSO_BACKCHANNEL_GLOBAL_TOKEN_REVOCATION": "true",
        ]
    }

    private static func hearEvents(_ configuration: inout BrokerConfiguration) {
        configuration.providers[0].events = ["security_events: {}", "global_token_revocation: {}"]
    }

    private func measured(_ fixture: Fixture) async throws -> [Figure] {
        var figures = EndingCause.allCases.map { Figure(["cause": .string($0.rawValue)]) }
        for round in 0..<options.rounds {
            for (index, cause) in EndingCause.allCases.enumerated() {
                say("ends: round \(round + 1), \(cause.rawValue)")
                figures[index].add(try await Self.measure(cause, fixture))
            }
        }
        return figures
    }

    private static func measure(_ cause: EndingCause, _ fixture: Fixture) async throws -> [Metric: Double] {
        let family = try await fixture.logins.family(at: fixture.first)
        _ = try await fixture.verifier.verify(family.accessToken, audience: SampleApps.audience)
        let exchange = try fixture.logins.exchange(family.login)
        let start = ProcessClock.monotonic
        async let answered = Self.end(family, by: cause, fixture)
        async let refused = Self.untilTrue("another broker refuses the login") {
            try await fixture.second.token(exchange).status == 400
        }
        async let dead = Self.untilTrue("the access token is refused") {
            do throws(VerificationError) {
                _ = try await fixture.verifier.verify(family.accessToken, audience: SampleApps.audience)
                return false
            } catch {
                guard error.code == .sessionEnded else { throw error }
                return true
            }
        }
        return [
            .endAnswered: Double(try await answered - start) / 1e6,
            .endRefused: Double(try await refused - start) / 1e6,
            .accessTokenDead: Double(try await dead - start) / 1e6,
        ]
    }

    /// - Returns: When the cause had answered.
    private static func end(_ family: TokenFamily, by cause: EndingCause, _ fixture: Fixture) async throws -> Int64 {
        switch cause {
        case .logoutToken:
            try await fixture.first.logout(fixture.logins.logout(family.login)).expect(200)
        case .deviceSignOut:
            let form: [(name: String, value: String)] = [
                ("client_id", fixture.logins.target), ("token", family.refreshToken),
                ("device_id", family.login.device),
            ]
            try await HTTPRequest.token(form, to: "/revoke").send(to: fixture.port).expect(200)
        case .globalTokenRevocation:
            let body = JSONObject(["sub_id": .object(fixture.logins.subject(of: family.login))])
            let token = try fixture.logins.revocation(audience: SampleApps.broker).signed()
            try await HTTPRequest.globalTokenRevocation(token, body.octets).send(to: fixture.port).expect(204)
        case .securityEvent:
            let event = fixture.logins.event(
                SecurityEventType.sessionRevoked, of: family.login, audience: SampleApps.broker)
            try await HTTPRequest.securityEvent(try event.signed()).send(to: fixture.port).expect(202)
        case .command:
            try await fixture.installation.command(
                "session", "end", "--issuer", SampleApps.issuer, "--sid", family.login.sid, "--execute",
                "--reason", "benchmark")
        case .support:
            let subject = family.login.token.claims.string("sub") ?? ""
            try await fixture.sql.rows(
                "SELECT native_sso.support_end_sessions('benchmark', '\(SampleApps.issuer)', '\(subject)')")
        }
        return ProcessClock.monotonic
    }

    private static func untilTrue(_ what: String, _ look: () async throws -> Bool) async throws -> Int64 {
        try await eventually(what, within: .seconds(60), every: .milliseconds(1)) {
            try await look() ? ProcessClock.monotonic : nil
        }
    }
}

extension HTTPAnswer {
    fileprivate func expect(_ expected: Int) throws {
        guard status == expected else { throw ManagedProcess.Failure(description: "\(status): \(text)") }
    }
}
