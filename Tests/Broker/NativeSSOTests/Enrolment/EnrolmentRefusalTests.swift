import BrokerTesting
import NativeSSO
import Testing

@Suite struct EnrolmentRefusalTests {
    @Test(arguments: EnrolmentRefusal.allCases) func isEarned(refusal: EnrolmentRefusal) async throws {
        var fixture = try EnrolmentFixture(refusal == .deviceHashMismatch ? .deviceID : .deviceSecret)
        switch refusal {
        case .assertionReplayed: fixture.registry.answer(.seen(assertionWasUsed: true))
        case .proofReplayed: fixture.registry.answer(.seen(proofWasUsed: true))
        case .otherClient: fixture.audience = ["app-two"]
        case .expired: (fixture.age, fixture.life) = (60, 60)
        case .stale: fixture.age = 301
        case .deviceHashMismatch: fixture.deviceIDHash = "b2011aotZ8lT3eslukasAw"
        case .clientDisabled: fixture.registry.answer(.seen(clientIsEnabled: false))
        case .clientNotInGroup: fixture.registry.answer(.seen(role: nil))
        case .directionForbidden: fixture.registry.answer(.seen(role: .target))
        case .loginEnded: fixture.registry.answer(.seen(loginHasEnded: true))
        case .accountDisabled: fixture.registry.answer(.seen(accountIsDisabled: true))
        case .deviceBlocked: fixture.registry.answer(.seen(deviceIsBlocked: true))
        case .pinConflict:
            fixture.client.proofPolicy = .required
            fixture.proof = .random()
            fixture.registry.answer(.seen(boundKey: .random()))
        case .tokenUsed: fixture.registry.answer(.seen(tokenIsUsed: true))
        case .scopeLacksOpenID: fixture.scope = Scope(["device_sso"])
        case .scopeLacksDeviceSSO: fixture.scope = Scope(["openid"])
        case .scopeExceedsClient: fixture.scope = Scope(["openid", "device_sso", "admin"])
        }
        #expect(await fixture.failure() == .refused(refusal))
        #expect(fixture.registry.entries.count == 1 && fixture.signer.count == 0)
    }

    @Test(arguments: SubjectTokenDefect.allCases) func anInvalidIDToken(defect: SubjectTokenDefect) async throws {
        let fixture = try EnrolmentFixture()
        fixture.idTokens.answer(.refusal(defect))
        #expect(await fixture.failure(verified: false) == .invalidIDToken(defect))
        #expect(fixture.registry.sessionCount == 0 && fixture.signer.count == 0)
    }

    @Test func theLastGoodSecond() async throws {
        var fixture = try EnrolmentFixture()
        fixture.age = 300
        _ = try await fixture.run()
        (fixture.age, fixture.life) = (60, 61)
        #expect(try await fixture.run("e30.other.c2ln").expiresIn == 1)
    }

    /// A stolen id_token that the IdP bound to a device does not become a login on the thief's device.
    @Test func whatIsBoundStaysBound() async throws {
        var fixture = try EnrolmentFixture()
        fixture.deviceSecretHash = "kjUFOPGZj71P1tPEBR__zg"
        #expect(await fixture.failure() == .refused(.deviceHashMismatch))
        fixture.deviceSecretHash = nil
        fixture.deviceIDHash = "b2011aotZ8lT3eslukasAg"
        #expect(await fixture.failure() == .refused(.deviceHashMismatch))
        var owner = try EnrolmentFixture(.deviceID)
        owner.deviceIDHash = owner.device?.hash(function: .sha256)
        _ = try await owner.run()
    }

    /// V-04. Only recorded enrolments count against the user, however many copies of the token exist.
    @Test func whatIsCharged() async throws {
        var fixture = try EnrolmentFixture(.deviceID)
        let user = RecordingUseLimits.Charge.enrolment(Subject(validated: "user"), client: fixture.client.id)
        func refused(_ token: String) -> RecordingUseLimits.Charge {
            .refusedEnrolment(EnrolledTokenDigest(of: SubjectToken(token)))
        }
        _ = try await fixture.run()
        #expect(fixture.limits.charges == [user])
        // Refused by the registry, for its scope and for its age.
        fixture.device = DeviceValue("another-device-of-the-thief", profile: .deviceID)
        #expect(await fixture.failure() == .refused(.tokenUsed))
        fixture.scope = Scope(["admin"])
        #expect(await fixture.failure("e30.two.c2ln") == .refused(.scopeExceedsClient))
        fixture.age = 301
        #expect(await fixture.failure("e30.old.c2ln") == .refused(.stale))
        #expect(
            fixture.limits.charges == [user, refused("e30.e30.c2ln"), refused("e30.two.c2ln"), refused("e30.old.c2ln")])

        fixture.limits.refuse(RateLimited(.deviceFailures, retryAfter: 3))
        #expect(await fixture.failure("e30.old.c2ln") == .limited(.deviceFailures))
        fixture.limits.refuse(RateLimited(.user, retryAfter: 3))
        fixture.age = 60
        #expect(await fixture.failure("e30.new.c2ln") == .limited(.user))
        #expect(fixture.registry.entries.count == 4)
    }
}

/// An outage is never a refusal. The broker issues nothing and leaves no partial session.
@Suite struct EnrolmentOutageTests {
    /// The broker notices an outage of the key module before it uses up the token, so the token stays valid.
    @Test func aPortGoesAway() async throws {
        let fixture = try EnrolmentFixture()
        #expect(await fixture.failure(verified: false) == .outage(.identityProvider))
        fixture.signer.fail(with: .outage(Outage(.keyModule, "away")))
        #expect(await fixture.failure() == .outage(.keyModule))
        #expect(fixture.registry.entries.isEmpty)
        fixture.signer.fail(with: nil)
        fixture.registry.fail(with: .outage(Outage(.database, "away")))
        #expect(await fixture.failure() == .outage(.database))
        #expect(fixture.signer.count == 0)
        fixture.registry.fail(with: nil)
        _ = try await fixture.run()
    }

    @Test func aRegistryThatDisagrees() async throws {
        var fixture = try EnrolmentFixture()
        let session = EnrolledSession(id: SessionID(validated: "s"), expiresAt: fixture.clock.now.adding(60))
        fixture.registry.answer(.seen())
        #expect(await fixture.failure() == .broken)
        fixture.registry.answer(.seen(session: session))
        fixture.age = 301
        #expect(await fixture.failure() == .broken)
    }
}
