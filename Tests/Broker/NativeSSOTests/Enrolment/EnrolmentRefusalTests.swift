import BrokerTesting
import NativeSSO
import RegistryConformance
import Testing

@Suite struct EnrolmentRefusalTests {
    @Test(arguments: EnrolmentRefusal.allCases) func isEarned(refusal: EnrolmentRefusal) async throws {
        var fixture = try EnrolmentFixture(refusal.profile)
        switch refusal {
        case .assertionReplayed:
            fixture.assertion = PresentedAssertion(
                id: AssertionID(client: fixture.client.id, jti: "one"), until: fixture.clock.now.adding(60))
            _ = try await fixture.run("e30.first.c2ln")
        case .proofReplayed:
            fixture.client.proofPolicy = .optional
            fixture.proof = .random()
            _ = try await fixture.run("e30.first.c2ln")
        case .otherClient: fixture.audience = ["app-two"]
        case .expired: (fixture.age, fixture.life) = (60, 60)
        case .stale: fixture.age = 301
        case .deviceHashMismatch: fixture.deviceIDHash = "b2011aotZ8lT3eslukasAw"
        case .clientDisabled: fixture.registry.enable(fixture.client.id, false)
        case .clientNotInGroup: fixture.registry.put(fixture.client.id, nil)
        case .directionForbidden:
            fixture.registry.put(fixture.client.id, Membership(group: GroupID(validated: "suite"), role: .target))
        case .loginEnded:
            _ = try await fixture.run("e30.first.c2ln")
            fixture.registry.endAll()
        case .accountDisabled: fixture.registry.disable(Subject(validated: "user"))
        case .deviceBlocked:
            fixture.registry.block(try fixture.keys.digest(try #require(fixture.device), at: EnrolmentFixture.issuer))
        case .pinConflict:
            fixture.client.proofPolicy = .required
            fixture.proof = .random()
            _ = try await fixture.run("e30.first.c2ln")
            fixture.proof = .random()
        case .tokenUsed:
            _ = try await fixture.run()
            fixture.device = DeviceValue("another-device-of-the-thief", profile: .deviceID)
        case .scopeLacksOpenID: fixture.scope = Scope(["device_sso"])
        case .scopeLacksDeviceSSO: fixture.scope = Scope(["openid"])
        case .scopeExceedsClient: fixture.scope = Scope(["openid", "device_sso", "admin"])
        }
        let before = fixture.registry.sessionCount
        #expect(await fixture.failure() == .refused(refusal))
        #expect(fixture.registry.sessionCount == before)
        #expect(fixture.signer.count == (before))
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

    @Test func severalAudiences() async throws {
        var fixture = try EnrolmentFixture()
        fixture.audience = ["app-one", "api"]
        #expect(await fixture.failure() == .refused(.otherClient))
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
    @Test func theIdentityProvider() async throws {
        let fixture = try EnrolmentFixture()
        #expect(await fixture.failure(verified: false) == .outage(.identityProvider))
        #expect(fixture.registry.entries.isEmpty)
    }

    @Test func theDatabase() async throws {
        let fixture = try EnrolmentFixture()
        fixture.registry.fail(with: .outage(Outage(.database, "away")))
        #expect(await fixture.failure() == .outage(.database))
        #expect(fixture.signer.count == 0)
    }

    /// The broker notices the outage before it uses up the token, so the token stays valid.
    @Test func theKeyModule() async throws {
        let fixture = try EnrolmentFixture()
        fixture.signer.fail(with: .outage(Outage(.keyModule, "away")))
        #expect(await fixture.failure() == .outage(.keyModule))
        #expect(fixture.registry.entries.isEmpty)
        fixture.signer.fail(with: nil)
        _ = try await fixture.run()
    }

    @Test func aRegistryThatDisagrees() async throws {
        var fixture = try EnrolmentFixture()
        let session = EnrolledSession(id: SessionID(validated: "s"), expiresAt: fixture.clock.now.adding(60))
        let facts = { (session: EnrolledSession?) in
            EnrolmentFacts(
                now: fixture.clock.now, clientIsEnabled: true,
                membership: Membership(group: GroupID(validated: "suite"), role: .both), deviceIsBlocked: false,
                loginHasEnded: false, tokenIsUsed: false, session: session)
        }
        fixture.registry.falsify(facts(nil))
        #expect(await fixture.failure() == .broken)
        fixture.registry.falsify(facts(session))
        fixture.age = 301
        #expect(await fixture.failure() == .broken)
    }
}

extension EnrolmentRefusal {
    fileprivate var profile: Profile {
        switch self {
        case .deviceHashMismatch, .deviceBlocked, .pinConflict, .tokenUsed: .deviceID
        default: .deviceSecret
        }
    }
}
