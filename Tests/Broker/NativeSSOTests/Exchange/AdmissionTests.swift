import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

/// The request that the broker sends to the registry.
@Suite struct AdmissionTests {
    @Test func carriesTheLoginAndTheRequest() async throws {
        var scenario = try ExchangeScenario()
        scenario.otherAudience = [ClientID(validated: "app-three"), scenario.source]
        scenario.scope = Scope(["openid", "device_sso"])
        scenario.client = Client(
            id: scenario.target, allowedScope: ExchangeScenario.scope, defaultScope: .empty,
            audiences: ["https://api.example.com", "https://api2.example.com"], refreshTokenLifetime: .days(3),
            allowsSelfExchange: true)
        let broker = try await Broker(scenario)
        let request = scenario.request
        _ = try? await broker.exchange(request)
        let asked = try #require(broker.registry.admissions.first)
        #expect(asked.request.requestID == request.requestID)
        #expect(asked.idToken.issuer == scenario.issuer)
        #expect(asked.sid == scenario.sessionID.digest)
        #expect(asked.idToken.subject == scenario.subject)
        #expect(asked.idToken.sourceClient == scenario.source)
        #expect(asked.otherAudience.map(\.string) == ["app-three"])
        #expect(asked.request.client.id == scenario.target)
        #expect(asked.request.client.allowsSelfExchange)
        #expect(asked.device == (try scenario.digest()))
        #expect(asked.request.profile == .deviceID)
        #expect(asked.checks.scope == Scope(["openid"]))
        #expect(asked.request.client.audiences == scenario.client.audiences)
        #expect(asked.idToken.login == scenario.login)
        #expect(asked.checks.idleLimit == scenario.lifetimes.sessionIdle)
        #expect(asked.checks.grantLifetime == .days(3))
        #expect(asked.firstSightLifetime == nil)
        #expect(asked.checks.isPermitted)
        #expect(asked.proposedGrantID != asked.proposedSessionRowID)
        let prefix = UInt64(broker.clock.milliseconds)
        #expect(asked.proposedGrantID.high >> 16 == prefix)
        #expect(asked.proposedSessionRowID.high >> 16 == prefix)
    }

    /// The broker reports a refusal of its own as not permitted, and the registry writes nothing.
    @Test func isNotPermittedWhereTheBrokerRefuses() async throws {
        for refusal in ExchangeRefusal.allCases {
            var scenario = try ExchangeScenario(profile: .deviceSecret)
            scenario.spoil(for: refusal)
            let broker = try await Broker(scenario)
            _ = try? await broker.exchange(scenario.request)
            let brokersOwn: [ExchangeRefusal] = [
                .subjectTokenTooOld, .subjectTokenExpired, .deviceHashMismatch, .scopeLacksOpenID, .scopeEmpty,
                .scopeExceedsClient, .consentRequired, .assuranceInsufficient,
            ]
            if let asked = broker.registry.admissions.first {
                #expect(asked.checks.isPermitted == !brokersOwn.contains(refusal), "\(refusal)")
            } else {
                #expect(!brokersOwn.contains(refusal))
            }
        }
    }
}
