import BrokerTesting
package import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let firstSightChecks =
        [
            GrantRegistryCheck("first sight: the session begins, and a second app uses it") { fixture in
                let scenario = try ExchangeScenario.firstSight()
                try await scenario.put(into: fixture)
                let (first, growth) = try await fixture.counting { try await scenario.attempt(on: fixture.registry) }
                #expect(growth == .growth(sessions: 1, grants: 1, liveGrants: 1, auditRows: 1))
                let session = try #require(first.facts.session)
                #expect(session.subject == scenario.subject)
                #expect(session.expiresAt == first.facts.now.adding(scenario.policy.sessionLifetime))
                #expect(session.lastUsedAt == first.facts.now)
                #expect(session.endedAt == nil)

                let sibling = scenario.sibling(3)
                try await sibling.put(into: fixture)
                let (second, further) = try await fixture.counting { try await sibling.attempt(on: fixture.registry) }
                #expect(further == .growth(grants: 1, liveGrants: 1, auditRows: 1))
                #expect(second.facts.session?.id == session.id)
                #expect(second.grant?.id != first.grant?.id)
            },
            GrantRegistryCheck("first sight: an expired id_token does not begin a session") { fixture in
                var scenario = try ExchangeScenario.firstSight()
                scenario.expiresAt = scenario.now
                try await expect(.sessionUnknown, of: scenario, on: fixture)
            },
            GrantRegistryCheck("first sight: an earlier logout keeps the session ended") { fixture in
                var scenario = try ExchangeScenario.firstSight()
                scenario.session = try ExchangeScenario.tombstone(of: scenario)
                try await expect(.sessionEnded, of: scenario, on: fixture)
            },
            GrantRegistryCheck("first sight: an ended session stays ended") { fixture in
                let scenario = try ExchangeScenario.firstSight()
                try await scenario.put(into: fixture)
                let session = try #require(try await scenario.attempt(on: fixture.registry).facts.session)
                try await fixture.endSession(session.id)
                let again = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(again.refusal == .sessionEnded)
            },
            GrantRegistryCheck("first sight: another user's session is not taken over") { fixture in
                var scenario = try ExchangeScenario.firstSight()
                try await scenario.put(into: fixture)
                _ = try await scenario.attempt(on: fixture.registry)
                scenario.subject = Subject(validated: "somebody-else")
                let again = try await fixture.writingNothing { try await scenario.attempt(on: fixture.registry) }
                #expect(again.refusal == .subjectMismatch)
            },
        ]
        + ExchangeRefusal.allCases
        .filter { refusal in
            ExchangeScenario.step(of: refusal) >= ExchangeScenario.step(of: .proofReplayed)
                && ExchangeScenario.step(of: refusal) != ExchangeScenario.step(of: .sessionEnded)
                && refusal != .subjectTokenExpired && refusal != .loginAfterReplay
        }
        .map { refusal in
            GrantRegistryCheck("first sight: no session begins with an exchange refused for \(refusal)") {
                fixture in
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
