import BrokerTesting
@testable import NativeSSO
import Testing

/// What is left of a code when the database, or a broker, goes away.
@Suite struct CodeOutageTests {
    /// An outage at each step: the app is told to come again, and when the database is back it has its login, without a second
    /// call. What was not sent is not spent, and what came is not lost.
    @Test(arguments: InMemoryCodeRegister.Call.allCases)
    func theDatabaseGoesAway(at call: InMemoryCodeRegister.Call) async throws {
        let stage = try CodeStage()
        stage.register.fail(call, with: .outage(Outage(.database, "told to")))
        if call == .forget {
            _ = try await stage.run()
            return
        }
        #expect(await stage.failure() == .outage(.database))
        #expect(stage.relay.codes.count == ([.claim, .send].contains(call) ? 0 : 1))
        stage.register.fail(call, with: nil)
        #expect(try await stage.eventually().tokens.refreshToken == CodeStage.tokens.refreshToken)
        #expect(stage.relay.codes.count == 1 && stage.login.registry.sessionCount == 1)
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
    }

    /// The broker that reserved a code dies before it is sent: another one takes it, and the first cannot send it any more.
    @Test func aReservationRunsOut() async throws {
        let stage = try CodeStage()
        let seal = try CodeSeal(stage.request, stage.login.keys)
        let dead = UniqueID(high: 7, low: 7)
        let entry = CodeEntry(requestID: dead, code: seal.name, binding: seal.binding, proof: nil)
        #expect(try await stage.register.claim(entry) == .granted)
        #expect(await stage.failure() == .refused(.inFlight))
        stage.register.letTimePass()
        _ = try await stage.run()
        #expect(try await !stage.register.send(seal.name, of: dead, patience: 15))
        #expect(stage.relay.codes.count == 1)
    }

    /// Its reservation was taken over while it was about to send.
    @Test func whoComesTooLateSendsNothing() async throws {
        let stage = try CodeStage()
        stage.register.refuseToSend()
        #expect(await stage.failure() == .refused(.inFlight))
        #expect(stage.relay.codes.isEmpty)
    }

    @Test func theRegistryGoesAway() async throws {
        let stage = try CodeStage()
        stage.login.registry.fail(with: .outage(Outage(.database, "told to")))
        #expect(await stage.failure() == .outage(.database))
        stage.login.registry.fail(with: nil)
        _ = try await stage.run()
        #expect(stage.relay.codes.count == 1 && stage.login.registry.sessionCount == 1)
    }

    // MARK: Orphans

    /// E-11: what the identity provider gave and nobody gets is revoked there, on record under the request's id.
    @Test(arguments: RevocationOutcome.allCases)
    func whatNobodyGetsIsRevoked(outcome: RevocationOutcome) async throws {
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
        stage.login.idTokens.answer(.token(stage.idToken(atHash: CodeStage.accessTokenHash)))
        #expect(await stage.failure() == .refused(.used))
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

    /// The database does not come back in time.
    @Test(arguments: [InMemoryCodeRegister.Call.settle, .finish])
    func nobodyComesForIt(call: InMemoryCodeRegister.Call) async throws {
        var stage = try CodeStage()
        stage.pauses = CodePauses(caller: [], background: [.zero])
        stage.register.fail(call, with: .outage(Outage(.database, "told to")))
        #expect(await stage.failure() == .outage(.database))
        await stage.audit.untilRecorded(1)
        #expect(stage.relay.revoked == ["idp-refresh"])
        stage.register.fail(call, with: nil)
        #expect(await stage.failure() == .refused(call == .settle ? .inFlight : .used))
    }

    @Test func withoutARefreshTokenThereIsNothingToRevoke() async throws {
        let stage = try CodeStage()
        var tokens = CodeStage.tokens
        tokens.refreshToken = nil
        stage.relay.answer(.tokens(tokens))
        stage.login.idTokens.answer(.refusal(.badSignature))
        _ = await stage.failure()
        #expect(stage.relay.revoked.isEmpty && stage.audit.events.isEmpty)
    }
}
