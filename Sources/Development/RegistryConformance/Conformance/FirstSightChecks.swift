import BrokerTesting
package import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let firstSightChecks: [GrantRegistryCheck] =
        [
            GrantRegistryCheck("first sight: the session begins, and a second app uses it") { fixture in
                let scenario = try await ExchangeScenario.firstSight().placed(in: fixture)
                let (first, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
                #expect(growth == .init(sessions: 1, grants: 1, liveGrants: 1, auditRows: 1))
                let session = try #require(first.facts.session)
                #expect(session.subject == scenario.subject)
                #expect(session.expiresAt == first.facts.now.adding(scenario.policy.sessionLifetime))
                #expect(session.lastUsedAt == first.facts.now && session.endedAt == nil)

                let sibling = scenario.sibling(3)
                try await sibling.put(into: fixture)
                let (second, further) = try await fixture.counting { try await sibling.attempt(on: fixture.registry) }
                #expect(further == .init(grants: 1, liveGrants: 1, auditRows: 1))
                #expect(second.facts.session?.id == session.id && second.grant?.id != first.grant?.id)
            },
            GrantRegistryCheck("first sight: it may be by an expired id_token of the greatest age") { fixture in
                var scenario = try ExchangeScenario.firstSight()
                scenario.issuedAt = scenario.now.before(scenario.policy.maximumFirstSightAge)
                scenario.login = Login(authenticatedAt: scenario.issuedAt)
                scenario.expiresAt = scenario.issuedAt.adding(300)
                let asked = try await scenario.placed(in: fixture)
                let (attempt, growth) = try await fixture.counting { try await asked.attempt(on: fixture.registry) }
                #expect(growth == .init(sessions: 1, grants: 1, liveGrants: 1, auditRows: 1))
                #expect(attempt.facts.session?.endedAt == nil && attempt.grant != nil)
            },
            GrantRegistryCheck("first sight refused, no session begins: an expired id_token, and a logout after it") {
                fixture in
                var scenario = try ExchangeScenario.firstSight()
                scenario.expiresAt = scenario.now
                scenario.session = try ExchangeScenario.tombstone(of: scenario)
                scenario.session?.authTimeAfter = scenario.now
                try await expect(.sessionEnded, of: scenario, on: fixture)
            },
        ]
        + ExchangeRefusal.allCases
        .filter { refusal in
            ExchangeScenario.step(of: refusal) >= ExchangeScenario.step(of: .proofReplayed)
                && ExchangeScenario.step(of: refusal) != ExchangeScenario.step(of: .sessionEnded)
                && refusal != .subjectTokenExpired && refusal != .loginAfterReplay
        }
        .map { refusal in
            GrantRegistryCheck("first sight refused, no session begins: \(refusal)") { fixture in
                var scenario = try ExchangeScenario.firstSight(profile: .deviceSecret)
                scenario.spoil(for: refusal)
                try await expect(refusal, of: scenario, on: fixture)
            }
        }
}

extension ExchangeScenario {
    /// The registry does not know the session, and the issuer's policy lets an exchange bring it in.
    package static func firstSight(profile: Profile = .deviceID) throws -> ExchangeScenario {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.session = nil
        scenario.policy = IssuerPolicy(
            issuer: scenario.issuer, profiles: scenario.policy.profiles, admitsOnFirstSight: true,
            sessionLifetime: .days(7))
        return scenario
    }

    /// What a logout leaves where the login was never seen.
    static func tombstone(of scenario: ExchangeScenario) throws -> SessionRow {
        var row = SessionRow(
            id: .random(), issuer: scenario.issuer, sid: scenario.sessionID, subject: nil,
            sourceClient: scenario.source, device: try scenario.digest(), expiresIn: .days(90))
        row.isEnded = true
        return row
    }

    /// The same login, asked for by one more app.
    package func sibling(_ number: Int) -> ExchangeScenario {
        var scenario = self
        scenario.target = ClientID(validated: "app-\(number)-\(group)")
        scenario.client = Client(
            id: scenario.target, allowedScope: client.allowedScope, defaultScope: client.defaultScope,
            audiences: client.audiences)
        return scenario
    }
}
