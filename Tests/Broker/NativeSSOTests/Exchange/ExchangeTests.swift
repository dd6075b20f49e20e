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
    }

    /// One id_token serves every sibling, any number of times.
    @Test func anIDTokenIsNotSpent() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        var accessTokens: Set<String> = []
        for _ in 0..<10 {
            accessTokens.insert(try await broker.exchange(scenario.request).accessToken)
        }
        #expect(accessTokens.count == 10)
        #expect(broker.registry.counts().grants == 1)
    }

    /// The refresh token of an exchange works, and once more while its answer may have been lost. That of an earlier
    /// exchange does not.
    @Test func itsRefreshTokenRefreshes() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        let first = try #require(try await broker.exchange(scenario.request).refreshToken)
        // Its answer may have been lost.
        #expect(try await broker.exchange(scenario.request).refreshToken == first)
        broker.pass(10)
        let second = try #require(try await broker.exchange(scenario.request).refreshToken)
        func request(_ token: String) -> RefreshRequest {
            RefreshRequest(requestID: .random(), client: scenario.client, refreshToken: token, scope: nil)
        }
        #expect(await broker.failure(of: request(first)) == .refused(.superseded))
        let successor = try await broker.refresh(request(second)).refreshToken
        #expect(successor != second)
        #expect(try await broker.refresh(request(second)).refreshToken == successor)
    }

    /// The 2018 profile always has a refresh token; later ones leave it to the client's registration.
    @Test(arguments: Profile.allCases)
    func whoGetsARefreshToken(profile: Profile) async throws {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.client = Client(
            id: scenario.target, allowedScope: ExchangeScenario.scope, defaultScope: ExchangeScenario.scope,
            audiences: ["https://api.example.com"], issuesRefreshToken: false)
        let broker = try await Broker(scenario)
        let hasRefreshToken = try await broker.exchange(scenario.request).refreshToken != nil
        #expect(hasRefreshToken == (profile == .deviceID))
    }

    /// Only draft 07 requires `openid` in a requested scope.
    @Test(arguments: Profile.allCases)
    func whoMayLeaveOutOpenID(profile: Profile) async throws {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.scope = Scope(["profile"])
        let broker = try await Broker(scenario)
        if profile == .deviceSecret {
            #expect(await broker.failure(of: scenario.request) == .refused(.scopeLacksOpenID))
        } else {
            #expect(try await broker.exchange(scenario.request).scope == "profile")
        }
    }

    /// The actor token's type selects the claim, whatever else the id_token holds.
    @Test(arguments: Profile.allCases)
    func theProfileSelectsTheHashClaim(profile: Profile) async throws {
        let scenario = try ExchangeScenario(profile: profile)
        let claims = scenario.claims
        let right = try #require(scenario.deviceHash)
        let wrong = "AAAAAAAAAAAAAAAAAAAAAA"
        for (claim, other, expected) in [
            (right, wrong, nil), (wrong, right, .refused(.deviceHashMismatch)),
            (nil, right, .invalidIDToken(.deviceHash)),
        ] as [(String?, String, Failure<ExchangeRefusal>?)] {
            let isDeviceID = profile == .deviceID
            let broker = try await Broker(scenario)
            broker.idTokens.answer(
                .claims(
                    IDTokenClaims(
                        issuer: claims.issuer, subject: claims.subject, sessionID: claims.sessionID,
                        sourceClient: claims.sourceClient, audience: claims.audience, issuedAt: claims.issuedAt,
                        expiresAt: claims.expiresAt, login: claims.login,
                        deviceIDHash: isDeviceID ? claim : other, deviceSecretHash: isDeviceID ? other : claim,
                        hashFunction: claims.hashFunction)))
            if let expected {
                #expect(await broker.failure(of: scenario.request) == expected)
            } else {
                #expect(try await broker.exchange(scenario.request).expiresIn == 300)
            }
        }
    }

    /// Native SSO §6.3: the id_token may have expired.
    @Test func anExpiredIDTokenIsGoodWhileItsSessionLives() async throws {
        var scenario = try ExchangeScenario()
        scenario.expiresAt = scenario.now.adding(-1)
        let broker = try await Broker(scenario)
        #expect(try await broker.exchange(scenario.request).expiresIn == 300)
    }

    @Test func whoIsNamedInMayActMayAct() async throws {
        var scenario = try ExchangeScenario()
        scenario.mayAct = scenario.target
        let broker = try await Broker(scenario)
        #expect(try await broker.exchange(scenario.request).expiresIn == 300)
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
        scenario.client = Client(
            id: scenario.target, allowedScope: ExchangeScenario.scope, defaultScope: ExchangeScenario.scope,
            audiences: ["https://api.example.com"], accessTokenLifetime: 90)
        let broker = try await Broker(scenario)
        #expect(try await broker.exchange(scenario.request).expiresIn == 90)
    }
}
