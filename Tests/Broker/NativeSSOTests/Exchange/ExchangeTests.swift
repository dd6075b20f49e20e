import BrokerTesting
import RegistryConformance
import NativeSSO
import StrictCoding
import Testing

@Suite struct ExchangeTests {
    @Test(arguments: Profile.allCases)
    func aSiblingGetsTokensOfItsOwn(profile: Profile) async throws {
        let scenario = try ExchangeScenario(profile: profile)
        let broker = try await Broker(scenario)
        let answer = try await broker.exchange(scenario.request)
        #expect(answer.expiresIn == 300)
        #expect(answer.scope == ExchangeScenario.scope.description)
        #expect(answer.idToken == nil)
        #expect(answer.refreshToken?.utf8.count == RefreshToken.length)
        let token = try #require(UnverifiedJWS(answer.accessToken))
        #expect(token.type == "at+jwt")
        #expect(token.claims.string("client_id") == scenario.target.string)
        #expect(token.claims.string("sub") == scenario.subject.string)
        #expect(broker.idTokens.questions.map(\.issuer) == [scenario.issuer])
        #expect(broker.idTokens.questions.map(\.now) == [scenario.now])
        let asked = try #require(broker.registry.admissions.first)
        for id in [asked.proposedGrantID, asked.proposedSessionRowID] {
            #expect(id.high >> 16 == UInt64(broker.clock.milliseconds))
        }
    }

    /// The 2018 profile always has a refresh token; later ones leave it to the client's registration.
    @Test(arguments: Profile.allCases)
    func whoGetsARefreshToken(profile: Profile) async throws {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.client.issuesRefreshToken = false
        let broker = try await Broker(scenario)
        let hasRefreshToken = try await broker.exchange(scenario.request).refreshToken != nil
        #expect(hasRefreshToken == (profile == .deviceID))
    }

    @Test func anAccessTokenNeverOutlivesTheSession() async throws {
        var scenario = try ExchangeScenario()
        scenario.session?.expiresIn = 42
        let broker = try await Broker(scenario)
        let answer = try await broker.exchange(scenario.request)
        #expect(answer.expiresIn == 42)
        let claims = try #require(UnverifiedJWS(answer.accessToken)).claims
        #expect(claims.number("exp")?.int64 == broker.registry.now.adding(42).seconds)
    }

    @Test func theClientsOwnLifetimeComesFirst() async throws {
        var scenario = try ExchangeScenario()
        scenario.client.accessTokenLifetime = 90
        let broker = try await Broker(scenario)
        #expect(try await broker.exchange(scenario.request).expiresIn == 90)
    }
}
