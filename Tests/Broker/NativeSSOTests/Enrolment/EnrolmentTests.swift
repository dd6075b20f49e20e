import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite struct EnrolmentTests {
    /// E-13: a device secret and an id_token with its `ds_hash` come together or not at all.
    @Test func theCurrentProfile() async throws {
        let fixture = try EnrolmentFixture()
        let answer = try await fixture.run()
        let secret = try #require(answer.deviceSecret)
        #expect(secret.utf8.count == 43)
        let token = try #require(UnverifiedJWS(answer.accessToken))
        #expect(token.type == "JWT")
        let device = try #require(DeviceValue(secret, profile: .deviceSecret))
        #expect(token.claims.string("ds_hash") == device.hash(function: .sha256))
        #expect(!token.claims.contains("di_hash"))
        #expect(answer.scope == "openid device_sso")
        #expect(answer.expiresIn == 3540)
        #expect(try await fixture.run("e30.e31.c2ln").deviceSecret != secret)
    }

    @Test func theProfileOf2018() async throws {
        let fixture = try EnrolmentFixture(.deviceID)
        let answer = try await fixture.run()
        #expect(answer.deviceSecret == nil && answer.scope == nil)
        let claims = try #require(UnverifiedJWS(answer.accessToken)).claims
        #expect(claims.string("di_hash") == fixture.device?.hash(function: .sha256))
        #expect(!claims.contains("ds_hash"))
    }

    @Test func claimsOfTheLoginGoOn() async throws {
        var fixture = try EnrolmentFixture()
        fixture.prefix = "partner|"
        let claims = try #require(UnverifiedJWS(try await fixture.run().accessToken)).claims
        #expect(claims.string("iss") == Broker.issuer.string)
        #expect(claims.string("idp") == EnrolmentFixture.issuer.string && claims["device_sso"] == .bool(true))
        // The user has the prefix of the IdP. The registry has the IdP's own `sub`.
        #expect(claims.string("sub") == "partner|user")
        #expect(fixture.registry.entries.map(\.idToken.subject.string) == ["user"])
        #expect(claims.string("aud") == "app-one")
        #expect(claims.string("nonce") == "n-1")
        #expect(claims.string("email") == "a@example.com")
        #expect(claims.string("acr") == "urn:loa" && claims.strings("amr") == ["pwd"])
        #expect(claims.string("jti") != "theirs")
        #expect(!claims.contains("at_hash"))
        #expect(claims.number("iat")?.wholeSeconds == fixture.clock.now.seconds)
        // V-02: a new `sid`, different from the IdP's.
        let sid = try #require(claims.string("sid"))
        #expect(sid != "idp-session" && UniqueID(sid) != nil)
        #expect(fixture.registry.entries.map(\.idToken.sessionID?.string) == ["idp-session"])
    }

    /// The broker records only an id_token that an exchange can read. Otherwise the app would hold a login that no
    /// sibling can use.
    @Test(arguments: [(10 << 10, 1, true), (11 << 10, 1, false), (10, 100, true), (10, 125, false)])
    func aLoginThatWouldGrowTooLarge(_ length: Int, _ count: Int, _ isGood: Bool) async throws {
        var fixture = try EnrolmentFixture()
        for number in 0..<count {
            fixture.moreClaims["groups-\(number)"] = .string(String(repeating: "g", count: length))
        }
        if isGood {
            let token = try #require(UnverifiedJWS(try await fixture.run().accessToken))
            #expect(token.claims.string("groups-0")?.utf8.count == length)
        } else {
            #expect(await fixture.failure() == .invalidIDToken(.malformed))
            #expect(fixture.registry.entries.isEmpty)
        }
    }

    /// The same token with another signature counts as the same token.
    @Test func theSameDeviceMayRepeat() async throws {
        let fixture = try EnrolmentFixture(.deviceID)
        var names: Set<String> = []
        for token in ["e30.e30.c2ln", "e30.e30.c2ln", "e30.e30.AAAA"] {
            let claims = try #require(UnverifiedJWS(try await fixture.run(token).accessToken)).claims
            names.insert(try #require(claims.string("sid")))
        }
        #expect(names.count == 1 && fixture.registry.sessionCount == 1)
        var other = fixture
        other.device = DeviceValue("another-device-of-the-thief", profile: .deviceID)
        #expect(await other.failure("e30.e30.BBBB") == .refused(.tokenUsed))
    }

    /// RFC 9449 §6.1: `cnf` names the key of the request's proof, never the key that the IdP saw.
    @Test func theKeyThatWasShown() async throws {
        var fixture = try EnrolmentFixture()
        let without = try #require(UnverifiedJWS(try await fixture.run().accessToken)).claims
        #expect(!without.contains("cnf"))
        let proof = PresentedProof.random()
        fixture.proof = proof
        let claims = try #require(UnverifiedJWS(try await fixture.run("e30.e31.c2ln").accessToken)).claims
        #expect(claims["cnf"]?.object?.string("jkt") == proof.key.string)
        #expect(fixture.registry.entries.map(\.request.client.isKnownByKey) == [false, false])
        #expect(fixture.registry.entries.last?.request.proof == proof)
    }

    /// RFC 9449 §5: a public client is known by its key, a confidential one by how it authenticates.
    @Test func whoIsPinned() async throws {
        for (policy, authentication, heeds) in [
            (.off, .none, false), (.optional, .none, true), (.required, .none, true),
            (.required, .privateKeyJWT, false),
        ] as [(Client.ProofPolicy, Client.Authentication, Bool)] {
            var fixture = try EnrolmentFixture()
            (fixture.client.proofPolicy, fixture.client.authentication) = (policy, authentication)
            _ = try await fixture.run()
            #expect(fixture.registry.entries.map(\.request.client.isKnownByKey) == [heeds])
        }
    }
}
