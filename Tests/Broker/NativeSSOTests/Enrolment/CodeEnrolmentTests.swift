import BrokerTesting
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

@Suite struct CodeEnrolmentTests {
    /// E-13: both or neither.
    @Test func theCurrentProfile() async throws {
        let stage = try CodeStage()
        let answer = try await stage.run()
        let secret = try #require(answer.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) })
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        #expect(claims.string("ds_hash") == secret.hash(function: .sha256))
        #expect(claims.string("iss") == Broker.issuer.string && claims.string("nonce") == "n-1")
        #expect(claims.string("at_hash") == CodeStage.accessTokenHash)
        var theirs = answer
        (theirs.idToken, theirs.deviceSecret) = (CodeStage.tokens.idToken, CodeStage.tokens.deviceSecret)
        #expect(theirs == CodeStage.tokens)
        #expect(stage.login.registry.sessionCount == 1)
    }

    @Test func theProfileOf2018() async throws {
        let stage = try CodeStage(.deviceID)
        let answer = try await stage.run()
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        #expect(answer.deviceSecret == nil)
        #expect(claims.string("di_hash") == stage.login.device?.hash(function: .sha256))
    }

    /// E-08: nobody asked for a device session.
    @Test func anOrdinaryLogin() async throws {
        var stage = try CodeStage()
        stage.login.scope = nil
        #expect(try await stage.run() == CodeStage.tokens)
        #expect(stage.login.registry.entries.isEmpty)
        // Whatever the identity provider has bound its id_token to: its own device secret goes with it.
        var bound = CodeStage.tokens
        bound.deviceSecret = "idp-device-secret"
        stage.relay.answer(.tokens(bound))
        stage.login.idTokens.answer(
            .claims(stage.idToken(atHash: CodeStage.accessTokenHash, deviceSecretHash: "of-its-own-secret")))
        stage.code = PresentedCode(code: "bound", redirectURI: "a:b", verifier: stage.code.verifier)
        let answer = try await stage.run()
        #expect(answer.idToken == CodeStage.tokens.idToken && answer.deviceSecret == "idp-device-secret")
        #expect(stage.login.registry.entries.isEmpty)
        stage.relay.answer(.tokens(CodeStage.tokens))
        // It is verified all the same.
        stage.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: stage.code.verifier)
        stage.login.audience = ["app-two"]
        stage.login.idTokens.answer(.claims(stage.idToken(atHash: nil)))
        #expect(await stage.failure() == .refused(.fault(.otherClient)))
    }

    /// Where the login is enrolled the device is this broker's to bind, whatever the identity provider bound it to.
    @Test(arguments: [Profile.deviceID, .deviceSecret])
    func theProviderHasBoundIt(profile: Profile) async throws {
        let stage = try CodeStage(profile)
        var bound = CodeStage.tokens
        bound.deviceSecret = "idp-device-secret"
        stage.relay.answer(.tokens(bound))
        stage.login.idTokens.answer(
            .claims(stage.idToken(atHash: CodeStage.accessTokenHash, deviceSecretHash: "of-its-own-secret")))
        let answer = try await stage.run()
        let claims = try #require(UnverifiedJWS(answer.idToken)).claims
        let device = answer.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) } ?? stage.login.device
        #expect(answer.deviceSecret != "idp-device-secret")
        #expect(
            claims.string(profile == .deviceID ? "di_hash" : "ds_hash") == device?.hash(function: .sha256))
        #expect(claims.contains("ds_hash") != (profile == .deviceID))
    }

    @Test(arguments: [("openid device_sso", true), ("openid Device_sso", false), ("xdevice_sso openid", false)])
    func theScopeThatWasGranted(scope: String, enrols: Bool) async throws {
        var stage = try CodeStage()
        stage.login.scope = nil
        var tokens = CodeStage.tokens
        tokens.scope = scope
        stage.relay.answer(.tokens(tokens))
        #expect((try await stage.run().deviceSecret != nil) == enrols)
        // Where the issuer has not the profile, the identity provider's word makes none.
        stage.profiles = [.deviceID]
        stage.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: stage.code.verifier)
        #expect(try await stage.run().deviceSecret == nil)
    }

    /// Before the identity provider is asked, so that the code is as good as it was.
    @Test func whatIsRefusedBeforehand() async throws {
        let stage = try CodeStage()
        func refusal(_ change: (inout CodeStage) -> Void) async -> Failure<CodeRefusal>? {
            var bent = stage
            change(&bent)
            return await bent.failure()
        }
        let good = stage.code.verifier
        for verifier in [
            "", String(good.dropLast()), String(repeating: "a", count: 129), good + "=", good + "ä", good + " ",
        ] {
            #expect(
                await refusal {
                    $0.code = PresentedCode(code: "c", redirectURI: "a:b", verifier: verifier)
                } == .refused(.relay(.verifierMalformed)))
        }
        #expect(
            await refusal { $0.login.scope = Scope(["openid", "admin"]) }
                == .refused(.enrolment(.scopeExceedsClient)))
        #expect(await refusal { $0.login.scope = Scope(["device_sso"]) } == .refused(.enrolment(.scopeLacksOpenID)))
        stage.login.signer.fail(with: .outage(Outage(.keyModule, "told to")))
        #expect(await stage.failure() == .outage(.keyModule))
        #expect(stage.relay.codes.isEmpty && stage.register.entries.isEmpty)
    }

    // MARK: Once

    @Test func aRepetitionGetsTheSame() async throws {
        var stage = try CodeStage()
        let answer = try await stage.run()
        stage.number = 2
        #expect(try await stage.run() == answer)
        // Scope is a set, RFC 6749 §3.3.
        stage.login.scope = try Scope(#require(stage.login.scope).tokens.reversed())
        #expect(try await stage.run() == answer)
        #expect(stage.relay.codes.count == 1 && stage.login.registry.sessionCount == 1)
        stage.register.letTimePass()
        #expect(await stage.failure() == .refused(.relay(.used)))
        #expect(stage.relay.codes.count == 1)
    }

    /// of all that belongs to the request nothing may differ.
    @Test func anotherRequestGetsNothing() async throws {
        let stage = try CodeStage()
        _ = try await stage.run()
        func refusal(_ change: (inout CodeStage) -> Void) async -> Failure<CodeRefusal>? {
            var bent = stage
            change(&bent)
            return await bent.failure()
        }
        let code = stage.code
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
            await refusal { $0.login.device = DeviceValue(EnrolmentStage.deviceID, profile: .deviceID) }
                == .refused(.relay(.used)))
        #expect(await refusal { $0.login.scope = nil } == .refused(.relay(.used)))
        let key = try #require(KeyThumbprint(String(repeating: "k", count: 43)))
        #expect(
            await refusal {
                $0.proof = PresentedProof(key: key, id: ProofID(key: key, jti: "1"), life: 60)
            } == .refused(.relay(.used)))
        #expect(stage.relay.codes.count == 1)
    }

    @Test func whileTheFirstIsAtIt() async throws {
        let stage = try CodeStage()
        stage.relay.answer(.waits(CodeStage.tokens))
        async let first = stage.run()
        await stage.relay.untilAsked(1)
        #expect(await stage.failure() == .refused(.relay(.inFlight)))
        stage.relay.goOn()
        let answer = try await first
        #expect(try await stage.run() == answer)
        #expect(stage.relay.codes.count == 1)
    }

    /// An app that changes networks just now.
    @Test func theCallerGoesAway() async throws {
        let stage = try CodeStage()
        stage.relay.answer(.waits(CodeStage.tokens))
        let caller = Task { try? await stage.run() }
        await stage.relay.untilAsked(1)
        caller.cancel()
        stage.relay.goOn()
        let answer = try #require(await caller.value)
        #expect(try await stage.run() == answer)
    }

    // MARK: The identity provider

    @Test(arguments: ProviderError.allCases)
    func itsErrorIsFinal(error: ProviderError) async throws {
        let stage = try CodeStage()
        stage.relay.answer(.failure(.refused(error)))
        #expect(await stage.failure() == .refused(.provider(error)))
        #expect(await stage.failure() == .refused(.provider(error)))
        #expect(stage.relay.codes.count == 1 && stage.login.registry.entries.isEmpty)
    }

    @Test(arguments: ProviderFault.allCases)
    func itsFaultMayHaveSpentTheCode(fault: ProviderFault) async throws {
        let stage = try CodeStage()
        stage.relay.answer(.failure(.unanswered(fault)))
        #expect(await stage.failure() == .refused(.fault(fault)))
        #expect(await stage.failure() == .refused(.relay(.used)))
        #expect(stage.relay.codes.count == 1 && stage.login.registry.entries.isEmpty)
    }

    @Test func whatWasNotSentIsNotSpent() async throws {
        let stage = try CodeStage()
        stage.relay.answer(.failure(.notAsked(.unreachable)))
        #expect(await stage.failure() == .refused(.fault(.unreachable)))
        stage.relay.answer(.tokens(CodeStage.tokens))
        _ = try await stage.run()
        #expect(stage.register.settlements.first == .released)
    }

    @Test func anInvalidIDTokenIsRefused() async throws {
        for (answer, expected) in [
            (
                StubIDTokenVerifier.Answer.refusal(.badSignature),
                Failure.refused(CodeRefusal.idToken(.badSignature))
            ),
            (.outage, .outage(.identityProvider)),
            (.claims(try CodeStage().idToken(atHash: "x")), .refused(.fault(.accessTokenHash))),
        ] {
            let stage = try CodeStage()
            stage.login.idTokens.answer(answer)
            #expect(await stage.failure() == expected)
            #expect(stage.login.registry.entries.isEmpty)
        }
    }

    /// What is kept opens to nobody who has not the whole request, and says nothing.
    @Test func whatIsKeptIsSealed() async throws {
        let stage = try CodeStage()
        let answer = try await stage.run()
        let kept = try #require(stage.register.answers.first)
        for secret in [
            answer.accessToken, answer.idToken, answer.deviceSecret ?? "", stage.code.code,
            stage.code.verifier,
        ] { #expect(kept.firstRange(of: Array(secret.utf8)) == nil) }
        let entry = try #require(stage.register.entries.first)
        #expect(entry.code.octets != entry.binding.octets && entry.code.octets.count == 32)
    }
}
