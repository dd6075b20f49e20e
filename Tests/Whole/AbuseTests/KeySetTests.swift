import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Identity providers with unavailable keys, beside a sound one at the same broker: rows W-01 to W-15.
@Suite(.serialized, .timeLimit(.minutes(5))) struct KeySetTests {
    @Test(arguments: KeySetFixture.Misbehaviour.allCases)
    func isAnOutageForItsOwnUsersAlone(_ kind: KeySetFixture.Misbehaviour) async throws {
        let fixture = try await KeySetFixture.shared
        let logins = try #require(fixture.unsound[kind])
        let answer = try await fixture.broker.token(try logins.exchange(logins.login()))
        #expect(answer.status == 503 && answer.error == "temporarily_unavailable", "\(answer.text)")
        #expect(answer["Retry-After"] != nil)
        #expect(try await fixture.broker.token(try fixture.sound.exchange(fixture.sound.login())).status == 200)
    }

    @Test func theBrokerSaysWhoIsMissing() async throws {
        let fixture = try await KeySetFixture.shared
        let answer = try await HTTPRequest("GET", "/readyz").send(to: fixture.broker.internalPort)
        #expect(answer.status == 503)
        for logins in fixture.unsound.values { #expect(answer.text.contains(logins.issuer)) }
    }

    /// W-07: the broker follows no redirect.
    @Test func noRedirectIsFollowed() async throws {
        let fixture = try await KeySetFixture.shared
        let logins = try #require(fixture.unsound[.redirects])
        #expect(try await fixture.broker.token(try logins.exchange(logins.login())).status == 503)
        #expect(fixture.redirecting.jwksRequests > 0)
        #expect(fixture.trap.jwksRequests == 0)
    }

    /// K-03.
    @Test func aDisabledIssuerIsRefused() async throws {
        let fixture = try await KeySetFixture.shared
        let answer = try await fixture.broker.token(try fixture.disabled.exchange(fixture.disabled.login()))
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.text)")
        #expect(try await fixture.installation.session().auditedReason(of: answer.requestID) == "idp_disabled")
    }

    /// W-11: a key without `alg` verifies only the issuer's algorithms for its key type.
    @Test(arguments: [(SignatureAlgorithm.rs256, 200), (.rs512, 400), (.ps256, 400)])
    func aKeyWithoutAlgorithm(_ algorithm: SignatureAlgorithm, _ status: Int) async throws {
        let fixture = try await KeySetFixture.shared
        var login = fixture.withoutAlgorithm.login()
        login.token.key = try fixture.withoutAlgorithm.key.renamed("rsa", algorithm: algorithm)
        login.token.header["alg"] = .string(algorithm.rawValue)
        #expect(try await fixture.broker.token(try fixture.withoutAlgorithm.exchange(login)).status == status)
    }

    /// W-12: a flood of unknown `kid`s causes one fetch, and delays no token with a known key.
    @Test func aFloodOfUnknownKeys() async throws {
        let fixture = try await KeySetFixture.shared
        let (before, start) = (fixture.soundProvider.jwksRequests, ContinuousClock.now)
        for index in 0..<100 {
            var login = fixture.sound.login()
            login.token.header["kid"] = .string("unheard-of-\(index)")
            #expect(try await fixture.broker.token(try fixture.sound.exchange(login)).status == 400)
        }
        // At most one every 30 s, and one that may have been due.
        let due = 2 + Int((ContinuousClock.now - start) / .seconds(30))
        #expect(fixture.soundProvider.jwksRequests - before <= due)
        #expect(try await fixture.broker.token(try fixture.sound.exchange(fixture.sound.login())).status == 200)
    }
}
