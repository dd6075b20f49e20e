import BrokerTesting
import NativeSSO
import RegistryConformance
import Testing

@Suite struct EnrolmentRefusalTests {
    @Test(arguments: EnrolmentRefusal.allCases) func isEarned(refusal: EnrolmentRefusal) async throws {
        var stage = try EnrolmentStage(refusal.profile)
        switch refusal {
        case .assertionReplayed:
            stage.assertion = PresentedAssertion(
                id: AssertionID(client: stage.client.id, jti: "one"), until: stage.clock.now.adding(60))
            _ = try await stage.run("e30.first.c2ln")
        case .proofReplayed:
            stage.client.proofPolicy = .optional
            stage.proof = .random()
            _ = try await stage.run("e30.first.c2ln")
        case .otherClient: stage.audience = ["app-two"]
        case .expired: (stage.age, stage.life) = (60, 60)
        case .stale: stage.age = 301
        case .deviceHashMismatch: stage.deviceIDHash = "b2011aotZ8lT3eslukasAw"
        case .clientDisabled: stage.registry.enable(stage.client.id, false)
        case .clientNotInGroup: stage.registry.put(stage.client.id, nil)
        case .directionForbidden:
            stage.registry.put(stage.client.id, Membership(group: GroupID(validated: "suite"), role: .target))
        case .loginEnded:
            _ = try await stage.run("e30.first.c2ln")
            stage.registry.endAll()
        case .deviceBlocked:
            stage.registry.block(try stage.keys.digest(try #require(stage.device), at: EnrolmentStage.issuer))
        case .pinConflict:
            stage.client.proofPolicy = .required
            stage.proof = .random()
            _ = try await stage.run("e30.first.c2ln")
            stage.proof = .random()
        case .tokenUsed:
            _ = try await stage.run()
            stage.device = DeviceValue("another-device-of-the-thief", profile: .deviceID)
        case .scopeLacksOpenID: stage.scope = Scope(["device_sso"])
        case .scopeLacksDeviceSSO: stage.scope = Scope(["openid"])
        case .scopeExceedsClient: stage.scope = Scope(["openid", "device_sso", "admin"])
        }
        let before = stage.registry.sessionCount
        #expect(await stage.failure() == .refused(refusal))
        #expect(stage.registry.sessionCount == before)
        #expect(stage.signer.count == (before))
    }

    @Test(arguments: SubjectTokenDefect.allCases) func anInvalidIDToken(defect: SubjectTokenDefect) async throws {
        let stage = try EnrolmentStage()
        stage.idTokens.answer(.refusal(defect))
        #expect(await stage.failure(verified: false) == .invalidIDToken(defect))
        #expect(stage.registry.sessionCount == 0 && stage.signer.count == 0)
    }

    @Test func theLastGoodSecond() async throws {
        var stage = try EnrolmentStage()
        stage.age = 300
        _ = try await stage.run()
        (stage.age, stage.life) = (60, 61)
        #expect(try await stage.run("e30.other.c2ln").expiresIn == 1)
    }

    /// An id_token that was stolen from an app which needs no enrolment does not become a login on the thief's device.
    @Test func whatIsBoundStaysBound() async throws {
        var stage = try EnrolmentStage()
        stage.deviceSecretHash = "kjUFOPGZj71P1tPEBR__zg"
        #expect(await stage.failure() == .refused(.deviceHashMismatch))
        stage.deviceSecretHash = nil
        stage.deviceIDHash = "b2011aotZ8lT3eslukasAg"
        #expect(await stage.failure() == .refused(.deviceHashMismatch))
        var owner = try EnrolmentStage(.deviceID)
        owner.deviceIDHash = owner.device?.hash(function: .sha256)
        _ = try await owner.run()
    }

    @Test func severalAudiences() async throws {
        var stage = try EnrolmentStage()
        stage.audience = ["app-one", "api"]
        #expect(await stage.failure() == .refused(.otherClient))
    }

    /// V-04. A user is charged for what was recorded and for nothing else, whoever has a token of his.
    @Test func whatIsCharged() async throws {
        var stage = try EnrolmentStage(.deviceID)
        let user = RecordingUseLimits.Charge.enrolment(Subject(validated: "user"), client: stage.client.id)
        func refused(_ token: String) -> RecordingUseLimits.Charge {
            .refusedEnrolment(EnrolledTokenDigest(of: SubjectToken(token)))
        }
        _ = try await stage.run()
        #expect(stage.limits.charges == [user])
        // By the registry, by the scope, by its age.
        stage.device = DeviceValue("another-device-of-the-thief", profile: .deviceID)
        #expect(await stage.failure() == .refused(.tokenUsed))
        stage.scope = Scope(["admin"])
        #expect(await stage.failure("e30.two.c2ln") == .refused(.scopeExceedsClient))
        stage.age = 301
        #expect(await stage.failure("e30.old.c2ln") == .refused(.stale))
        #expect(
            stage.limits.charges == [user, refused("e30.e30.c2ln"), refused("e30.two.c2ln"), refused("e30.old.c2ln")])

        stage.limits.refuse(RateLimited(.deviceFailures, retryAfter: 3))
        #expect(await stage.failure("e30.old.c2ln") == .limited(.deviceFailures))
        stage.limits.refuse(RateLimited(.user, retryAfter: 3))
        stage.age = 60
        #expect(await stage.failure("e30.new.c2ln") == .limited(.user))
        #expect(stage.registry.entries.count == 4)
    }
}

/// What the broker needs is not there: never a refusal, nothing issued, and no session by half.
@Suite struct EnrolmentOutageTests {
    @Test func theIdentityProvider() async throws {
        let stage = try EnrolmentStage()
        #expect(await stage.failure(verified: false) == .outage(.identityProvider))
        #expect(stage.registry.entries.isEmpty)
    }

    @Test func theDatabase() async throws {
        let stage = try EnrolmentStage()
        stage.registry.fail(with: .outage(Outage(.database, "away")))
        #expect(await stage.failure() == .outage(.database))
        #expect(stage.signer.count == 0)
    }

    /// Known before the token is used up, which then is still good.
    @Test func theKeyModule() async throws {
        let stage = try EnrolmentStage()
        stage.signer.fail(with: .outage(Outage(.keyModule, "away")))
        #expect(await stage.failure() == .outage(.keyModule))
        #expect(stage.registry.entries.isEmpty)
        stage.signer.fail(with: nil)
        _ = try await stage.run()
    }

    @Test func aRegistryThatDisagrees() async throws {
        var stage = try EnrolmentStage()
        let session = EnrolledSession(id: SessionID(validated: "s"), expiresAt: stage.clock.now.adding(60))
        let facts = { (session: EnrolledSession?) in
            EnrolmentFacts(
                now: stage.clock.now, clientIsEnabled: true,
                membership: Membership(group: GroupID(validated: "suite"), role: .both), deviceIsBlocked: false,
                loginHasEnded: false, tokenIsUsed: false, session: session)
        }
        stage.registry.falsify(facts(nil))
        #expect(await stage.failure() == .broken)
        stage.registry.falsify(facts(session))
        stage.age = 301
        #expect(await stage.failure() == .broken)
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
