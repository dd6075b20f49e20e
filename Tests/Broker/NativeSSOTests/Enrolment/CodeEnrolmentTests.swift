import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite struct CodeEnrolmentTests {
    /// OpenID Connect RP-Initiated Logout §2: the IdP knows only its own id_token as id_token_hint.
    @Test(arguments: [Profile.deviceID, .deviceSecret]) func theProvidersIDToken(profile: Profile) async throws {
        #expect(try await CodeFixture(profile).run().providerIDToken == nil)
        var fixture = try CodeFixture(profile)
        fixture.policy = CodeRelayPolicy(timeout: 5, atOnce: 2, passesIDToken: true)
        let answer = try await fixture.run()
        #expect(answer.providerIDToken == CodeFixture.tokens.idToken && answer.idToken != CodeFixture.tokens.idToken)
        // The stored answer has it too.
        #expect(try await fixture.run() == answer)
    }

    /// The app did not ask for a device session: the IdP's device secret goes on with the IdP's id_token, which the broker
    /// still verifies.
    @Test func anOrdinaryLogin() async throws {
        var fixture = try CodeFixture()
        fixture.login.scope = nil
        fixture.bind()
        let answer = try await fixture.run()
        #expect(answer.idToken == CodeFixture.tokens.idToken && answer.deviceSecret == "idp-device-secret")
        fixture.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: fixture.code.verifier)
        fixture.login.audience = ["app-two"]
        fixture.login.idTokens.answer(.claims(fixture.idToken(atHash: nil)))
        #expect(await fixture.failure() == .refused(.unusable(.otherClient)))
        #expect(fixture.login.registry.entries.isEmpty)
    }

    /// The broker binds an enrolled login to its own device value, even if the IdP bound it to another.
    @Test(arguments: [Profile.deviceID, .deviceSecret])
    func theProviderHasBoundIt(profile: Profile) async throws {
        let fixture = try CodeFixture(profile)
        fixture.bind()
        let answer = try await fixture.run()
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        let device = answer.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) } ?? fixture.login.device
        #expect(answer.deviceSecret != "idp-device-secret")
        #expect(
            claims.string(profile == .deviceID ? "di_hash" : "ds_hash") == device?.hash(function: .sha256))
        #expect(claims.contains("ds_hash") != (profile == .deviceID))
    }

    @Test(arguments: [("openid device_sso", true), ("openid Device_sso", false), ("xdevice_sso openid", false)])
    func theScopeThatWasGranted(scope: String, enrols: Bool) async throws {
        var fixture = try CodeFixture()
        fixture.login.scope = nil
        var tokens = CodeFixture.tokens
        tokens.scope = scope
        fixture.relay.answer(.tokens(tokens))
        #expect((try await fixture.run().deviceSecret != nil) == enrols)
        // Without the profile at the issuer, the granted scope enrols nothing.
        fixture.profiles = [.deviceID]
        fixture.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: fixture.code.verifier)
        #expect(try await fixture.run().deviceSecret == nil)
    }

    /// These checks precede the call to the IdP, so the code stays usable.
    @Test func whatIsRefusedBeforehand() async throws {
        var fixture = try CodeFixture()
        let good = fixture.code.verifier
        let verifiers = [
            "", String(good.dropLast()), String(repeating: "a", count: 129), good + "=", good + "ä", good + " ",
        ]
        let malformed: [(String, String, RelayRefusal)] =
            verifiers.map { ("c", $0, .verifierMalformed) }
            + ["c\u{7F}", "c\n", "cö"].map { ($0, good, .codeMalformed) }
        for (code, verifier, refusal) in malformed {
            fixture.code = PresentedCode(code: code, redirectURI: "a:b", verifier: verifier)
            #expect(await fixture.failure() == .refused(.relay(refusal)))
        }
        fixture.code = PresentedCode(code: "c", redirectURI: "a:b", verifier: good)
        fixture.login.signer.fail(with: .outage(Outage(.keyModule, "told to")))
        #expect(await fixture.failure() == .outage(.keyModule))
        #expect(fixture.relay.codes.isEmpty && fixture.register.entries.isEmpty)
    }

    // MARK: Once

    /// Scope is a set, RFC 6749 §3.3.
    @Test func aRepetitionMayNameTheScopeInAnotherOrder() async throws {
        var fixture = try CodeFixture()
        let answer = try await fixture.run()
        fixture.login.scope = try Scope(#require(fixture.login.scope).tokens.reversed())
        #expect(try await fixture.run() == answer)
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.sessionCount == 1)
    }

    /// An app changes networks while it waits.
    @Test func theCallerGoesAway() async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.waits(CodeFixture.tokens))
        let caller = Task { try? await fixture.run() }
        while fixture.relay.codes.isEmpty { await Task.yield() }
        caller.cancel()
        fixture.relay.goOn()
        let answer = try #require(await caller.value)
        #expect(try await fixture.run() == answer)
    }

    // MARK: The identity provider

    @Test func whatWasNotSentIsNotSpent() async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.failure(.notAsked(.unreachable)))
        #expect(await fixture.failure() == .refused(.fault(.unreachable)))
        fixture.relay.answer(.tokens(CodeFixture.tokens))
        _ = try await fixture.run()
        #expect(fixture.register.settlements.first == .released)
    }

    /// An unusable answer is final at every broker, even if the IdP would answer well now.
    @Test(arguments: AnswerFault.allCases) func anUnusableAnswerIsFinal(fault: AnswerFault) async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.failure(.unusable(fault, orphan: "idp-refresh")))
        #expect(await fixture.failure() == .refused(.unusable(fault)))
        fixture.relay.answer(.tokens(CodeFixture.tokens))
        #expect(await fixture.failure() == .refused(.relay(.used)))
        await fixture.pending.finished()
        #expect(fixture.relay.codes.count == 1 && fixture.relay.revoked == ["idp-refresh"])
    }

    /// Without the keys of the IdP nothing is decided about its id_token.
    @Test func anIDTokenThatCannotBeVerified() async throws {
        let fixture = try CodeFixture()
        fixture.login.idTokens.answer(.outage)
        #expect(await fixture.failure() == .outage(.identityProvider))
        #expect(fixture.login.registry.entries.isEmpty)
    }

    /// A stored answer opens only to the whole request, and reveals nothing.
    @Test func whatIsKeptIsSealed() async throws {
        let fixture = try CodeFixture()
        let answer = try await fixture.run()
        let kept = try #require(fixture.register.answers.first)
        for secret in [
            answer.accessToken, answer.idToken, answer.deviceSecret ?? "", fixture.code.code,
            fixture.code.verifier,
        ] { #expect(kept.firstRange(of: Array(secret.utf8)) == nil) }
        let entry = try #require(fixture.register.entries.first)
        #expect(entry.code.octets != entry.binding.octets && entry.code.octets.count == 32)
    }
}
