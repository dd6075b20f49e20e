import BrokerTesting
import RegistryConformance
import StrictCoding
import Testing

@testable import NativeSSO

@Suite struct RefreshTests {
    @Test func aNarrowerScopeNarrowsTheAccessToken() async throws {
        var scenario = try RefreshScenario()
        scenario.scope = Scope(["profile"])
        let broker = try await Broker(scenario)
        let answer = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(answer.scope == "profile" && answer.expiresIn == 300 && answer.idToken == nil)
        #expect(UnverifiedJWS(answer.accessToken)?.claims.string("scope") == "profile")
    }

    /// As in an exchange: `device_sso` belongs to the source client's login. One widespread client SDK still sends it.
    @Test(arguments: [["openid", "device_sso"], ["device_sso"]])
    func deviceSSOIsDropped(named: [String]) async throws {
        var scenario = try RefreshScenario()
        scenario.scope = Scope(named)
        let broker = try await Broker(scenario)
        let answer = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(answer.scope == (named.contains("openid") ? "openid" : ExchangeScenario.scope.description))
    }

    @Test func theAudiencesAreThoseOfTheGrant() async throws {
        var scenario = try RefreshScenario()
        scenario.grant?.audiences = ["https://a.example", "https://b.example"]
        let broker = try await Broker(scenario)
        let answer = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(
            UnverifiedJWS(answer.accessToken)?.claims.strings("aud") == ["https://a.example", "https://b.example"])
    }

    /// An access token ends with the grant or the session, whichever ends first.
    @Test func anAccessTokenOutlivesNothing() async throws {
        for (grantEnd, sessionEnd) in [(42, 5000), (5000, 42), (42, 42)] as [(Int64, Int64)] {
            var scenario = try RefreshScenario()
            scenario.grant?.expiresIn = Seconds(grantEnd)
            scenario.exchange.session?.expiresIn = Seconds(sessionEnd)
            let broker = try await Broker(scenario)
            let answer = try await broker.refresh(scenario.request(keys: broker.keys))
            #expect(answer.expiresIn == 42)
            let claims = try #require(UnverifiedJWS(answer.accessToken)).claims
            #expect(claims.number("exp")?.int64 == broker.registry.now.adding(42).seconds)
        }
    }
}

extension RefreshScenario {
    func request(keys: SoftwareMACKeys) async throws -> RefreshRequest {
        let token = RefreshToken(grantID: grantID, generation: generation)
        return RefreshRequest(
            requestID: .random(), client: client, refreshToken: try await token.encoded(by: keys).value, scope: scope,
            resource: resource, proof: proof, assertion: assertion)
    }
}
