import BrokerTesting
import RegistryConformance
@testable import NativeSSO
import Testing

/// What is left of a code when the database, or a broker, goes away.
@Suite struct CodeOutageTests {
    private static let outage = PortError.outage(Outage(.database, "told to"))

    /// An outage at each step, before it is done or after: the app is told to come again, and when the database is back it has its
    /// login, without a second call. What was not sent is not spent, and what came is not lost.
    @Test(
        arguments: [InMemoryCodeRegister.Call.claim, .send, .settle, .finish],
        InMemoryCodeRegister.FailurePoint.allCases)
    func theDatabaseGoesAway(
        at call: InMemoryCodeRegister.Call, _ point: InMemoryCodeRegister.FailurePoint
    ) async throws {
        let stage = try CodeStage()
        stage.register.fail(call, point, with: Self.outage)
        #expect(await stage.failure() == .outage(.database))
        #expect(stage.relay.codes.count == ([.claim, .send].contains(call) ? 0 : 1))
        stage.register.fail(call, with: nil)
        #expect(try await stage.eventually().refreshToken == CodeStage.tokens.refreshToken)
        #expect(stage.relay.codes.count == 1 && stage.login.registry.sessionCount == 1)
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
    }

    /// One replica's tokens are on record, and it does not hear of it; another answers the app's second request meanwhile. What the
    /// app has is not revoked, and the first replica's end is the same answer.
    @Test func anotherReplicaAnswersMeanwhile() async throws {
        let stage = try CodeStage()
        stage.register.fail(.settle, .after, with: Self.outage)
        let (first, second) = (stage.broker(), stage.broker())
        #expect(await stage.failure(at: first) == .outage(.database))
        let answer = try await second.run(stage.request)
        stage.register.fail(.settle, with: nil)
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
        #expect(try await second.run(stage.request) == answer)
    }

    /// The same while its caller waits yet: both get one answer.
    @Test func theAnswerIsLostWhileTheCallerWaits() async throws {
        var stage = try CodeStage()
        stage.pauses.caller = Array(repeating: .milliseconds(1), count: 10_000)
        stage.register.fail(.settle, .after, with: Self.outage)
        let (first, second, request) = (stage.broker(), stage.broker(), stage.request)
        async let late = first.run(request)
        while stage.register.settlements.isEmpty { await Task.yield() }
        let answer = try await second.run(request)
        stage.register.fail(.settle, with: nil)
        #expect(try await late == answer)
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
    }

    /// The database does not say any more whether it has what came: an app may have it.
    @Test func itIsUnknownWhetherItIsKept() async throws {
        var stage = try CodeStage()
        stage.pauses = CodePauses(caller: [], background: [.zero])
        stage.register.fail(.settle, .after, with: Self.outage)
        #expect(await stage.failure() == .outage(.database))
        await stage.pending.finished()
        #expect(stage.audit.events.map(\.reason) == ["code_outcome_unknown"])
        #expect(try await stage.run().refreshToken == "idp-refresh")
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty)
    }

    /// The login is refused, and the database does not say whether what came is withdrawn.
    @Test(arguments: InMemoryCodeRegister.FailurePoint.allCases)
    func itIsUnknownWhetherItIsForgotten(point: InMemoryCodeRegister.FailurePoint) async throws {
        let stage = try CodeStage()
        stage.register.fail(.forget, point, with: Self.outage)
        stage.login.idTokens.answer(.refusal(.badSignature))
        let refusal = Failure.refused(CodeRefusal.idToken(.badSignature))
        #expect(await stage.failure() == refusal)
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.map(\.reason) == ["code_outcome_unknown"])
        stage.register.fail(.forget, with: nil)
        #expect(await stage.failure() == (point == .before ? refusal : .refused(.relay(.used))))
        await stage.pending.finished()
        #expect(stage.relay.revoked == (point == .before ? ["idp-refresh"] : []))
    }

    /// The broker that reserved a code dies before it is sent: another one takes it, and the first cannot send it any more.
    @Test func aReservationRunsOut() async throws {
        let stage = try CodeStage()
        let seal = try CodeSeal(stage.request, stage.login.keys)
        let dead = UniqueID(high: 7, low: 7)
        let entry = CodeEntry(requestID: dead, code: seal.name, binding: seal.binding, proof: nil)
        #expect(try await stage.register.claim(entry) == .granted)
        #expect(await stage.failure() == .refused(.relay(.inFlight)))
        stage.register.letTimePass()
        _ = try await stage.run()
        #expect(try await !stage.register.send(seal.name, of: dead, patience: 15))
        #expect(stage.relay.codes.count == 1)
    }

    /// Its reservation was taken over while it was about to send.
    @Test func whoComesTooLateSendsNothing() async throws {
        let stage = try CodeStage()
        stage.register.refuseToSend()
        #expect(await stage.failure() == .refused(.relay(.inFlight)))
        #expect(stage.relay.codes.isEmpty)
    }

    @Test func theRegistryGoesAway() async throws {
        let stage = try CodeStage()
        stage.login.registry.fail(with: Self.outage)
        #expect(await stage.failure() == .outage(.database))
        stage.login.registry.fail(with: nil)
        _ = try await stage.run()
        #expect(stage.relay.codes.count == 1 && stage.login.registry.sessionCount == 1)
    }

    // MARK: Orphans

    /// E-11: what the identity provider gave and nobody gets is revoked there, on record under the request's id.
    @Test(arguments: RevocationOutcome.allCases)
    func aTokenThatNoAppGetsIsRevoked(outcome: RevocationOutcome) async throws {
        let stage = try CodeStage()
        stage.relay.revocation(outcome)
        stage.login.idTokens.answer(.refusal(.badSignature))
        #expect(await stage.failure() == .refused(.idToken(.badSignature)))
        await stage.audit.untilRecorded(1)
        #expect(stage.relay.revoked == ["idp-refresh"])
        let event = try #require(stage.audit.events.first)
        #expect(event.kind == .codeOrphaned && event.reason == outcome.rawValue)
        #expect(event.requestID == stage.request.requestID && event.client == stage.login.client.id)
        // Nobody gets it afterwards, whatever the identity provider's keys say then.
        stage.login.idTokens.answer(.claims(stage.idToken(atHash: CodeStage.accessTokenHash)))
        #expect(await stage.failure() == .refused(.relay(.used)))
        #expect(stage.relay.revoked.count == 1 && stage.register.answers.isEmpty)
    }

    /// A refresh token in an answer that is none otherwise.
    @Test func anAnswerThatCannotBeUsed() async throws {
        let stage = try CodeStage()
        stage.relay.answer(.failure(.unanswered(.noIDToken, orphan: "orphan")))
        #expect(await stage.failure() == .refused(.fault(.noIDToken)))
        await stage.audit.untilRecorded(1)
        #expect(stage.relay.revoked == ["orphan"])
    }

    /// No answer can be put on record in time: what is kept is withdrawn.
    @Test func noRequestComesForIt() async throws {
        var stage = try CodeStage()
        stage.pauses = CodePauses(caller: [], background: [.zero])
        stage.register.fail(.finish, with: Self.outage)
        #expect(await stage.failure() == .outage(.database))
        await stage.pending.finished()
        #expect(stage.relay.revoked == ["idp-refresh"])
        stage.register.fail(.finish, with: nil)
        #expect(await stage.failure() == .refused(.relay(.used)))
    }

    /// RFC 7009 §2.1: the whole grant may end with the token.
    @Test func theOperatorMayLeaveItBe() async throws {
        var stage = try CodeStage()
        stage.policy = CodeRelayPolicy(revokesOrphans: false)
        stage.login.idTokens.answer(.refusal(.badSignature))
        #expect(await stage.failure() == .refused(.idToken(.badSignature)))
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.map(\.reason) == ["idp_revocation_off"])
    }

    /// An identity provider whose revocation endpoint hangs has a quarter as many of them as codes.
    @Test func revocationsHaveTheirPlaces() async throws {
        var stage = try CodeStage()
        stage.policy = CodeRelayPolicy(atOnce: 4)
        stage.relay.holdRevocations()
        stage.login.idTokens.answer(.refusal(.badSignature))
        let broker = stage.broker()
        #expect(await stage.failure(at: broker) == .refused(.idToken(.badSignature)))
        stage.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: stage.code.verifier)
        stage.number = 2
        #expect(await stage.failure(at: broker) == .refused(.idToken(.badSignature)))
        #expect(stage.audit.events.map(\.reason) == ["idp_revocation_failed"])
        stage.relay.goOn()
        await stage.pending.finished()
        #expect(stage.audit.events.map(\.reason) == ["idp_revocation_failed", "idp_token_revoked"])
        stage.code = PresentedCode(code: "a third", redirectURI: "a:b", verifier: stage.code.verifier)
        stage.number = 3
        _ = await stage.failure(at: broker)
        await stage.pending.finished()
        #expect(stage.relay.revoked.count == 2)
    }

    @Test func withoutARefreshTokenThereIsNothingToRevoke() async throws {
        let stage = try CodeStage()
        var tokens = CodeStage.tokens
        tokens.refreshToken = nil
        stage.relay.answer(.tokens(tokens))
        stage.login.idTokens.answer(.refusal(.badSignature))
        _ = await stage.failure()
        await stage.pending.finished()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
    }
}
