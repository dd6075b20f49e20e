import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Identity providers whose keys cannot be had, each beside a sound one at the same broker: rows W-01 to W-15.
@Suite(.serialized, .timeLimit(.minutes(5))) struct KeySetTests {
    @Test(arguments: KeySetStage.Misbehaviour.allCases)
    func isAnOutageForItsOwnUsersAlone(_ kind: KeySetStage.Misbehaviour) async throws {
        let stage = try await KeySetStage.shared
        let logins = try #require(stage.unsound[kind])
        let answer = try await stage.broker.token(try logins.exchange(logins.login()))
        #expect(answer.status == 503 && answer.error == "temporarily_unavailable", "\(answer.text)")
        #expect(answer["Retry-After"] != nil)
        #expect(try await stage.broker.token(try stage.sound.exchange(stage.sound.login())).status == 200)
    }

    @Test func theBrokerSaysWhoIsMissing() async throws {
        let stage = try await KeySetStage.shared
        let answer = try await HTTPRequest("GET", "/readyz").send(to: stage.broker.internalPort)
        #expect(answer.status == 503)
        for logins in stage.unsound.values { #expect(answer.text.contains(logins.issuer)) }
    }

    /// W-07: what a redirect names is never asked.
    @Test func noRedirectIsFollowed() async throws {
        let stage = try await KeySetStage.shared
        let logins = try #require(stage.unsound[.redirects])
        #expect(try await stage.broker.token(try logins.exchange(logins.login())).status == 503)
        #expect(stage.redirecting.jwksRequests > 0)
        #expect(stage.trap.jwksRequests == 0)
    }

    /// K-03.
    @Test func aDisabledIssuerIsUnknown() async throws {
        let stage = try await KeySetStage.shared
        let answer = try await stage.broker.token(try stage.disabled.exchange(stage.disabled.login()))
        #expect(answer.status == 400 && answer.error == "invalid_target", "\(answer.text)")
    }

    /// W-11: a key that names no algorithm serves those of its kind that the issuer may use, and no other.
    @Test(arguments: [(SignatureAlgorithm.rs256, 200), (.rs512, 400), (.ps256, 400)])
    func aKeyWithoutAlgorithm(_ algorithm: SignatureAlgorithm, _ status: Int) async throws {
        let stage = try await KeySetStage.shared
        var login = stage.withoutAlgorithm.login()
        login.token.key = try stage.withoutAlgorithm.key.renamed("rsa", algorithm: algorithm)
        login.token.header["alg"] = .string(algorithm.rawValue)
        #expect(try await stage.broker.token(try stage.withoutAlgorithm.exchange(login)).status == status)
    }

    /// W-12: a flood of unknown names makes no flood of questions, and nobody who has a key waits for it.
    @Test func aFloodOfUnknownKeys() async throws {
        let stage = try await KeySetStage.shared
        let (before, start) = (stage.soundProvider.jwksRequests, ContinuousClock.now)
        for index in 0..<100 {
            var login = stage.sound.login()
            login.token.header["kid"] = .string("unheard-of-\(index)")
            #expect(try await stage.broker.token(try stage.sound.exchange(login)).status == 400)
        }
        // At most one every half minute, and one that may have been due.
        let due = 2 + Int((ContinuousClock.now - start) / .seconds(30))
        #expect(stage.soundProvider.jwksRequests - before <= due)
        #expect(try await stage.broker.token(try stage.sound.exchange(stage.sound.login())).status == 200)
    }
}
