import BrokerTesting
@testable import NativeSSO
import Testing

/// The state of a code after a failure of the database or of a broker.
@Suite struct CodeOutageTests {
    private static let outage = PortError.outage(Outage(.database, "told to"))

    /// An outage at each step, before or after the write: the app is told to come again. When the database is back, it
    /// gets its login without a second call to the IdP. A code that was not sent stays usable, and received tokens are
    /// not lost.
    @Test(
        arguments: [InMemoryCodeRegister.Call.claim, .send, .settle, .finish],
        InMemoryCodeRegister.FailurePoint.allCases)
    func theDatabaseGoesAway(
        at call: InMemoryCodeRegister.Call, _ point: InMemoryCodeRegister.FailurePoint
    ) async throws {
        let fixture = try CodeFixture()
        fixture.register.fail(call, point, with: Self.outage)
        #expect(await fixture.failure() == .outage(.database))
        #expect(fixture.relay.codes.count == ([.claim, .send].contains(call) ? 0 : 1))
        fixture.register.fail(call, with: nil)
        #expect(try await fixture.eventually().refreshToken == CodeFixture.tokens.refreshToken)
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.sessionCount == 1)
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty && fixture.audit.events.isEmpty)
    }

    /// One replica's tokens are stored, but it does not learn so; another replica answers the app's second request
    /// meanwhile. The app's tokens are not revoked, and the first replica ends with the same answer.
    @Test func anotherReplicaAnswersMeanwhile() async throws {
        let fixture = try CodeFixture()
        fixture.register.fail(.settle, .after, with: Self.outage)
        let (first, second) = (fixture.broker(), fixture.broker())
        #expect(await fixture.failure(at: first) == .outage(.database))
        let answer = try await second.run(fixture.request)
        fixture.register.fail(.settle, with: nil)
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty && fixture.audit.events.isEmpty)
        #expect(try await second.run(fixture.request) == answer)
    }

    /// The same while the first caller still waits: both get one answer.
    @Test func theAnswerIsLostWhileTheCallerWaits() async throws {
        var fixture = try CodeFixture()
        fixture.pauses.caller = Array(repeating: .milliseconds(1), count: 10_000)
        fixture.register.fail(.settle, .after, with: Self.outage)
        let (first, second, request) = (fixture.broker(), fixture.broker(), fixture.request)
        async let late = first.run(request)
        while fixture.register.settlements.isEmpty { await Task.yield() }
        let answer = try await second.run(request)
        fixture.register.fail(.settle, with: nil)
        #expect(try await late == answer)
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty && fixture.audit.events.isEmpty)
    }

    /// The database cannot confirm that it stored the tokens: an app may have them.
    @Test func itIsUnknownWhetherItIsKept() async throws {
        var fixture = try CodeFixture()
        fixture.pauses = CodePauses(caller: [], background: [.zero])
        fixture.register.fail(.settle, .after, with: Self.outage)
        #expect(await fixture.failure() == .outage(.database))
        await fixture.pending.finished()
        #expect(fixture.audit.events.map(\.reason) == ["code_outcome_unknown"])
        #expect(try await fixture.run().refreshToken == "idp-refresh")
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty)
    }

    /// The login is refused, and the database cannot confirm that the stored tokens are withdrawn.
    @Test(arguments: InMemoryCodeRegister.FailurePoint.allCases)
    func itIsUnknownWhetherItIsForgotten(point: InMemoryCodeRegister.FailurePoint) async throws {
        let fixture = try CodeFixture()
        fixture.register.fail(.forget, point, with: Self.outage)
        fixture.login.idTokens.answer(.refusal(.badSignature))
        let refusal = Failure.refused(CodeRefusal.idToken(.badSignature))
        #expect(await fixture.failure() == refusal)
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty && fixture.audit.events.map(\.reason) == ["code_outcome_unknown"])
        fixture.register.fail(.forget, with: nil)
        #expect(await fixture.failure() == (point == .before ? refusal : .refused(.relay(.used))))
        await fixture.pending.finished()
        #expect(fixture.relay.revoked == (point == .before ? ["idp-refresh"] : []))
    }

    /// Another request took over the reservation just before the code was sent.
    @Test func whoComesTooLateSendsNothing() async throws {
        let fixture = try CodeFixture()
        fixture.register.refuseToSend()
        #expect(await fixture.failure() == .refused(.relay(.inFlight)))
        #expect(fixture.relay.codes.isEmpty)
    }

    @Test func theRegistryGoesAway() async throws {
        let fixture = try CodeFixture()
        fixture.login.registry.fail(with: Self.outage)
        #expect(await fixture.failure() == .outage(.database))
        fixture.login.registry.fail(with: nil)
        _ = try await fixture.run()
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.sessionCount == 1)
    }

    // MARK: Orphans

    /// E-11: tokens from the IdP that no app gets are revoked there, with an audit event under the request's id.
    @Test(arguments: RevocationOutcome.allCases)
    func aTokenThatNoAppGetsIsRevoked(outcome: RevocationOutcome) async throws {
        let fixture = try CodeFixture()
        fixture.relay.revocation(outcome)
        fixture.login.idTokens.answer(.refusal(.badSignature))
        #expect(await fixture.failure() == .refused(.idToken(.badSignature)))
        await fixture.pending.finished()
        #expect(fixture.relay.revoked == ["idp-refresh"])
        let event = try #require(fixture.audit.events.first)
        #expect(event.kind == .codeOrphaned && event.reason == outcome.rawValue)
        #expect(event.requestID == fixture.request.requestID && event.client == fixture.login.client.id)
        // No app gets the tokens later, even if the id_token verifies by then.
        fixture.login.idTokens.answer(.claims(fixture.idToken(atHash: CodeFixture.accessTokenHash)))
        #expect(await fixture.failure() == .refused(.relay(.used)))
        #expect(fixture.relay.revoked.count == 1 && fixture.register.answers.isEmpty)
    }

    /// The answer cannot be stored in time: the stored tokens are withdrawn.
    @Test func noRequestComesForIt() async throws {
        var fixture = try CodeFixture()
        fixture.pauses = CodePauses(caller: [], background: [.zero])
        fixture.register.fail(.finish, with: Self.outage)
        #expect(await fixture.failure() == .outage(.database))
        await fixture.pending.finished()
        #expect(fixture.relay.revoked == ["idp-refresh"])
        fixture.register.fail(.finish, with: nil)
        #expect(await fixture.failure() == .refused(.relay(.used)))
    }

    /// RFC 7009 §2.1: the whole grant may end with the token, so an operator may leave it be. Without a refresh token there
    /// is nothing to revoke.
    @Test(arguments: [("idp-refresh", ["idp_revocation_off"]), (nil, [])] as [(String?, [String])])
    func nothingIsRevoked(refreshToken: String?, reasons: [String]) async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(revokesOrphans: refreshToken == nil)
        var tokens = CodeFixture.tokens
        tokens.refreshToken = refreshToken
        fixture.relay.answer(.tokens(tokens))
        fixture.login.idTokens.answer(.refusal(.badSignature))
        #expect(await fixture.failure() == .refused(.idToken(.badSignature)))
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.isEmpty && fixture.audit.events.map(\.reason) == reasons)
    }

    /// One IdP may have a quarter as many revocations in flight as codes, in case its revocation endpoint hangs.
    @Test func revocationsHaveTheirPlaces() async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(atOnce: 4)
        fixture.relay.holdRevocations()
        fixture.login.idTokens.answer(.refusal(.badSignature))
        let broker = fixture.broker()
        #expect(await fixture.failure(at: broker) == .refused(.idToken(.badSignature)))
        fixture.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: fixture.code.verifier)
        fixture.number = 2
        #expect(await fixture.failure(at: broker) == .refused(.idToken(.badSignature)))
        #expect(fixture.audit.events.map(\.reason) == ["idp_revocation_failed"])
        fixture.relay.goOn()
        await fixture.pending.finished()
        #expect(fixture.audit.events.map(\.reason) == ["idp_revocation_failed", "idp_token_revoked"])
        fixture.code = PresentedCode(code: "a third", redirectURI: "a:b", verifier: fixture.code.verifier)
        fixture.number = 3
        _ = await fixture.failure(at: broker)
        await fixture.pending.finished()
        #expect(fixture.relay.revoked.count == 2)
    }
}
