import BrokerTesting
import RegistryConformance
import StrictCoding
import Testing

@testable import NativeSSO

@Suite struct RefreshTests {
    @Test func theFamilyGoesOnByOne() async throws {
        var scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        for generation in 5...20 as ClosedRange<Int32> {
            scenario.generation = generation
            let answer = try await broker.refresh(scenario.request(keys: broker.keys))
            let next = RefreshToken(grantID: scenario.grantID, generation: generation + 1)
            #expect(try await answer.refreshToken == next.encoded(by: broker.keys).value)
            #expect(answer.idToken == nil)
            #expect(answer.expiresIn == 300)
            broker.pass(.minutes(5))
        }
    }

    /// Neither a family nor an access token outlives the maximum login age of the client. Then an exchange names the
    /// missing login.
    @Test func aFamilyEndsWhenTheLoginIsTooOld() async throws {
        var scenario = try ExchangeScenario(profile: .deviceSecret)
        scenario.client.maximumAuthenticationAge = Seconds(2 * 3600 + 400)
        let (broker, client) = (try await Broker(scenario), scenario.client)
        func refresh(_ token: String?) throws -> RefreshRequest {
            RefreshRequest(requestID: .random(), client: client, refreshToken: try #require(token), scope: nil)
        }
        let first = try await broker.exchange(scenario.request)
        #expect(first.expiresIn == 300)
        broker.pass(200)
        let second = try await broker.refresh(refresh(first.refreshToken))
        #expect(second.expiresIn == 201)
        broker.pass(200)
        let third = try await broker.refresh(refresh(second.refreshToken))
        #expect(third.expiresIn == 1)
        broker.pass(1)
        #expect(await broker.failure(of: try refresh(third.refreshToken)) == .refused(.grantExpired))
        #expect(await broker.failure(of: scenario.request) == .refused(.assuranceInsufficient))
    }

    /// A lost answer: the same refresh token again, and an access token of its own.
    @Test func aRetryGetsTheSameSuccessor() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let first = try await broker.refresh(scenario.request(keys: broker.keys))
        broker.pass(9)
        let second = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(second.refreshToken == first.refreshToken)
        #expect(second.accessToken != first.accessToken)
        broker.pass(1)
        #expect(try await broker.failure(of: scenario.request(keys: broker.keys)) == .refused(.late))
    }

    /// The grace period of a client that authenticates is one minute.
    @Test func theGraceIsLongerWhereTheClientAuthenticates() async throws {
        var scenario = try RefreshScenario()
        scenario.client = Client(
            id: scenario.client.id, authentication: .privateKeyJWT, allowedScope: ExchangeScenario.scope,
            defaultScope: ExchangeScenario.scope, audiences: ["https://api.example.com"])
        let broker = try await Broker(scenario)
        let first = try await broker.refresh(scenario.request(keys: broker.keys))
        broker.pass(59)
        #expect(try await broker.refresh(scenario.request(keys: broker.keys)).refreshToken == first.refreshToken)
        broker.pass(1)
        #expect(try await broker.failure(of: scenario.request(keys: broker.keys)) == .refused(.late))
    }

    @Test func aNarrowerScopeNarrowsTheAccessToken() async throws {
        var scenario = try RefreshScenario()
        scenario.scope = Scope(["profile"])
        let broker = try await Broker(scenario)
        let answer = try await broker.refresh(scenario.request(keys: broker.keys))
        #expect(answer.scope == "profile")
        #expect(UnverifiedJWS(answer.accessToken)?.claims.string("scope") == "profile")
        scenario.generation = 6
        scenario.scope = nil
        #expect(
            try await broker.refresh(scenario.request(keys: broker.keys)).scope == ExchangeScenario.scope.description)
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

    @Test func whatTheClientHasLostIsLeftOut() async throws {
        var scenario = try RefreshScenario()
        scenario.client = Client(
            id: scenario.client.id, allowedScope: Scope(["email", "openid"]), defaultScope: .empty,
            audiences: ["https://api.example.com"])
        let broker = try await Broker(scenario)
        #expect(try await broker.refresh(scenario.request(keys: broker.keys)).scope == "openid")
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
