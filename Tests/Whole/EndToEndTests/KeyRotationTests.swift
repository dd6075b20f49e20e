import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// The identity provider signs with a new key. A broker asks for keys at most every half minute, so this takes as long.
@Suite(.timeLimit(.minutes(5))) struct KeyRotationTests {
    @Test func aKeyThatWasJustPublished() async throws {
        let (first, successor) = (try TestKey(.es256, keyID: "first"), try TestKey(.es256, keyID: "successor"))
        let provider = try StubIdentityProvider(keys: [first])
        let (installation, logins) = try await FaultFixture.install(
            provider.issuer, first, on: try await PrivateCluster.shared)
        let broker = try installation.startBroker()
        try await broker.untilReady()
        // It asked when it started, and may ask again half a minute later.
        let mayAsk = ContinuousClock.now + .seconds(31)
        try provider.publish([first, successor])
        let before = provider.jwksRequests
        // Nobody who has a token under the old key notices anything, before, while and after the broker asks.
        repeat {
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
            try await Task.sleep(for: .milliseconds(200))
        } while ContinuousClock.now < mayAsk
        // The first token under the new key is accepted at once, and causes the fetch for all later ones.
        for _ in 1...3 {
            var login = logins.login()
            login.token.key = successor
            login.token.header["kid"] = .string("successor")
            let answer = try await broker.token(try logins.exchange(login))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.keepsContract)
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
        }
        #expect(provider.jwksRequests - before == 1)
        await broker.process.terminate()
    }
}
