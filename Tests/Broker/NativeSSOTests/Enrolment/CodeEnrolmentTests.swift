import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite struct CodeEnrolmentTests {
    /// E-13: a device secret and an id_token with its `ds_hash` come together or not at all.
    @Test func theCurrentProfile() async throws {
        let fixture = try CodeFixture()
        let answer = try await fixture.run()
        let secret = try #require(answer.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) })
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        #expect(claims.string("ds_hash") == secret.hash(function: .sha256))
        #expect(claims.string("iss") == Broker.issuer.string && claims.string("nonce") == "n-1")
        #expect(claims.string("at_hash") == CodeFixture.accessTokenHash)
        var theirs = answer
        (theirs.idToken, theirs.deviceSecret) = (CodeFixture.tokens.idToken, CodeFixture.tokens.deviceSecret)
        #expect(theirs == CodeFixture.tokens)
        #expect(fixture.login.registry.sessionCount == 1)
    }

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

    @Test func theProfileOf2018() async throws {
        let fixture = try CodeFixture(.deviceID)
        let answer = try await fixture.run()
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        #expect(answer.deviceSecret == nil)
        #expect(claims.string("di_hash") == fixture.login.device?.hash(function: .sha256))
    }

    /// E-08: the app did not ask for a device session.
    @Test func anOrdinaryLogin() async throws {
        var fixture = try CodeFixture()
        fixture.login.scope = nil
        #expect(try await fixture.run() == CodeFixture.tokens)
        #expect(fixture.login.registry.entries.isEmpty)
        // The IdP's device secret goes on with the IdP's id_token.
        var bound = CodeFixture.tokens
        bound.deviceSecret = "idp-device-secret"
        fixture.relay.answer(.tokens(bound))
        fixture.login.idTokens.answer(
            .claims(fixture.idToken(atHash: CodeFixture.accessTokenHash, deviceSecretHash: "of-its-own-secret")))
        fixture.code = PresentedCode(code: "bound", redirectURI: "a:b", verifier: fixture.code.verifier)
        let answer = try await fixture.run()
        #expect(answer.idToken == CodeFixture.tokens.idToken && answer.deviceSecret == "idp-device-secret")
        #expect(fixture.login.registry.entries.isEmpty)
        fixture.relay.answer(.tokens(CodeFixture.tokens))
        // The broker still verifies the id_token.
        fixture.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: fixture.code.verifier)
        fixture.login.audience = ["app-two"]
        fixture.login.idTokens.answer(.claims(fixture.idToken(atHash: nil)))
        #expect(await fixture.failure() == .refused(.fault(.otherClient)))
    }

    /// The broker binds an enrolled login to its own device value, even if the IdP bound it to another.
    @Test(arguments: [Profile.deviceID, .deviceSecret])
    func theProviderHasBoundIt(profile: Profile) async throws {
        let fixture = try CodeFixture(profile)
        var bound = CodeFixture.tokens
        bound.deviceSecret = "idp-device-secret"
        fixture.relay.answer(.tokens(bound))
        fixture.login.idTokens.answer(
            .claims(fixture.idToken(atHash: CodeFixture.accessTokenHash, deviceSecretHash: "of-its-own-secret")))
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
        let fixture = try CodeFixture()
        func refusal(_ change: (inout CodeFixture) -> Void) async -> Failure<CodeRefusal>? {
            var bent = fixture
            change(&bent)
            return await bent.failure()
        }
        let good = fixture.code.verifier
        for verifier in [
            "", String(good.dropLast()), String(repeating: "a", count: 129), good + "=", good + "ä", good + " ",
        ] {
            #expect(
                await refusal {
                    $0.code = PresentedCode(code: "c", redirectURI: "a:b", verifier: verifier)
                } == .refused(.relay(.verifierMalformed)))
        }
        for code in ["c\u{7F}", "c\n", "cö"] {
            #expect(
                await refusal { $0.code = PresentedCode(code: code, redirectURI: "a:b", verifier: good) }
                    == .refused(.relay(.codeMalformed)))
        }
        #expect(await refusal { $0.login.scope = Scope(["device_sso"]) } == .refused(.enrolment(.scopeLacksOpenID)))
        fixture.login.signer.fail(with: .outage(Outage(.keyModule, "told to")))
        #expect(await fixture.failure() == .outage(.keyModule))
        #expect(fixture.relay.codes.isEmpty && fixture.register.entries.isEmpty)
    }

    // MARK: Once

    @Test func aRepetitionGetsTheSame() async throws {
        var fixture = try CodeFixture()
        let answer = try await fixture.run()
        fixture.number = 2
        #expect(try await fixture.run() == answer)
        // Scope is a set, RFC 6749 §3.3.
        fixture.login.scope = try Scope(#require(fixture.login.scope).tokens.reversed())
        #expect(try await fixture.run() == answer)
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.sessionCount == 1)
        fixture.register.letTimePass()
        #expect(await fixture.failure() == .refused(.relay(.used)))
        #expect(fixture.relay.codes.count == 1)
    }

    /// every part of the request must be the same.
    @Test func anotherRequestGetsNothing() async throws {
        let fixture = try CodeFixture()
        _ = try await fixture.run()
        func refusal(_ change: (inout CodeFixture) -> Void) async -> Failure<CodeRefusal>? {
            var bent = fixture
            change(&bent)
            return await bent.failure()
        }
        let code = fixture.code
        let verifier = String(repeating: "v", count: 43)
        #expect(
            await refusal {
                $0.code = PresentedCode(code: code.code, redirectURI: code.redirectURI, verifier: verifier)
            } == .refused(.relay(.used)))
        #expect(
            await refusal {
                $0.code = PresentedCode(code: code.code, redirectURI: "app:/other", verifier: code.verifier)
            } == .refused(.relay(.used)))
        #expect(
            await refusal { $0.login.device = DeviceValue(EnrolmentFixture.deviceID, profile: .deviceID) }
                == .refused(.relay(.used)))
        #expect(await refusal { $0.login.scope = nil } == .refused(.relay(.used)))
        let key = try #require(KeyThumbprint(String(repeating: "k", count: 43)))
        #expect(
            await refusal {
                $0.proof = PresentedProof(key: key, id: ProofID(key: key, jti: "1"), life: 60)
            } == .refused(.relay(.used)))
        #expect(fixture.relay.codes.count == 1)
    }

    @Test func whileTheFirstIsAtIt() async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.waits(CodeFixture.tokens))
        async let first = fixture.run()
        await fixture.relay.untilAsked(1)
        #expect(await fixture.failure() == .refused(.relay(.inFlight)))
        fixture.relay.goOn()
        let answer = try await first
        #expect(try await fixture.run() == answer)
        #expect(fixture.relay.codes.count == 1)
    }

    /// An app changes networks while it waits.
    @Test func theCallerGoesAway() async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.waits(CodeFixture.tokens))
        let caller = Task { try? await fixture.run() }
        await fixture.relay.untilAsked(1)
        caller.cancel()
        fixture.relay.goOn()
        let answer = try #require(await caller.value)
        #expect(try await fixture.run() == answer)
    }

    // MARK: The identity provider

    @Test(arguments: ProviderError.allCases)
    func itsErrorIsFinal(error: ProviderError) async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.failure(.refused(error)))
        #expect(await fixture.failure() == .refused(.provider(error)))
        #expect(await fixture.failure() == .refused(.provider(error)))
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.entries.isEmpty)
    }

    @Test(arguments: ProviderFault.allCases)
    func itsFaultMayHaveSpentTheCode(fault: ProviderFault) async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.failure(.unanswered(fault)))
        #expect(await fixture.failure() == .refused(.fault(fault)))
        #expect(await fixture.failure() == .refused(.relay(.used)))
        #expect(fixture.relay.codes.count == 1 && fixture.login.registry.entries.isEmpty)
    }

    @Test func whatWasNotSentIsNotSpent() async throws {
        let fixture = try CodeFixture()
        fixture.relay.answer(.failure(.notAsked(.unreachable)))
        #expect(await fixture.failure() == .refused(.fault(.unreachable)))
        fixture.relay.answer(.tokens(CodeFixture.tokens))
        _ = try await fixture.run()
        #expect(fixture.register.settlements.first == .released)
    }

    @Test func anInvalidIDTokenIsRefused() async throws {
        for (answer, expected) in [
            (
                StubIDTokenVerifier.Answer.refusal(.badSignature),
                Failure.refused(CodeRefusal.idToken(.badSignature))
            ),
            (.outage, .outage(.identityProvider)),
            (.claims(try CodeFixture().idToken(atHash: "x")), .refused(.fault(.accessTokenHash))),
        ] {
            let fixture = try CodeFixture()
            fixture.login.idTokens.answer(answer)
            #expect(await fixture.failure() == expected)
            #expect(fixture.login.registry.entries.isEmpty)
        }
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
